/** An answer with all that is known of it: near misses and fixes, and as JSON (docs/schema/sluice-v1.json). */

import { decodeObject } from '../../inputs/kube/decode/decode.ts';
import { type Address, addressBits, type Family, familyOf } from '../../model/address.ts';
import type { Flow } from '../../model/flow.ts';
import type { Inventory } from '../../model/inventory.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { Direction, Policy } from '../../model/policy.ts';
import type { ServiceKey } from '../../model/service.ts';
import type { DnsRecord } from '../../names/dnscache.ts';
import type { DirectionWalk } from '../../semantics/explain.ts';
import type { Entryways } from '../entrances/entryways.ts';
import { doubtNotes, entrywayObject } from '../entrances/waytext.ts';
import { versioned } from '../schema.ts';
import { type Answer, endHost, groupsOf } from './answer.ts';
import { API_SERVER, endpointRemark } from './apiserver.ts';
import type { QuestionResult } from './ask.ts';
import { parseEndpoint } from './endpoint.ts';
import { type Fix, proposeFix } from './fix/fix.ts';
import { distinctFlips } from './fix/flips.ts';
import type { PolicyObject } from './fix/proposal.ts';
import type { Meaning, PodGroup } from './fix/sides.ts';
import type { Written } from './fix/written.ts';
import { flowSeenBy, isSeenOtherwise, type JudgedFlow, walkSeen, withNames } from './judge.ts';
import { type NearMiss, nearMisses } from './nearmiss.ts';
import { type ClusterView, podOf, type ResolvedEndpoint, type Target } from './place.ts';
import { servicePortsTo } from './services.ts';
import type { StatusesByPolicy } from './statuses.ts';

export function answerObject(
  asked: QuestionResult,
  view: ClusterView,
  notes: readonly string[],
  {
    fix,
    ways,
    written,
  }: {
    readonly fix?: WantedFix | undefined;
    readonly ways?: Entryways | undefined;
    readonly written?: Written | undefined;
  } = {},
): object {
  if ('error' in asked) {
    const { question, error } = asked;
    const words = 'line' in question ? { line: question.line } : { from: question.from, to: question.to };
    return versioned('Explanation', { ...words, error });
  }
  const { question, verdict, reason, families, differsBy, cases, decisive, cluster, resolved } = asked.answer;
  const { statuses } = asked.answer;
  const { unknownPods } = view;
  const way = decisive && walkSeen(cluster, decisive, unknownPods);
  return versioned('Explanation', {
    from: endHost(question.from),
    to: endHost(question.to),
    ...(decisive && { port: decisive.flow.port, protocol: decisive.flow.protocol }),
    verdict,
    reason,
    families: Object.fromEntries(
      Object.entries(families).map(([family, word]) => [FAMILY_WORDS[family as Family], word]),
    ),
    differsBy,
    ...(decisive &&
      way && {
        addresses: addressesOf(decisive),
        egress: directionObject(way.egress, decisive, statuses),
        ingress: directionObject(way.ingress, decisive, statuses),
      }),
    cases: groupsOf(cases).map(({ families: over, ...group }) => ({
      ...group,
      families: over.map(family => FAMILY_WORDS[family]),
    })),
    nearly: (['egress', 'ingress'] as const).flatMap(direction =>
      nearMissesOf(asked.answer, direction, unknownPods).map(miss => missObject(direction, miss, decisive!)),
    ),
    ...(fix && { fix: fixObject(fixOf(asked.answer, view, fix, written)) }),
    ...(ways && ways.ways.length > 0 && { entryways: ways.ways.map(entrywayObject) }),
    notes: [...notes, ...asked.answer.notes, ...(ways ? doubtNotes(ways) : [])],
    ...(resolved.length > 0 && { told: resolved.map(recordObject) }),
  });
}

function recordObject({ pod, name, oneOf, address, from, toldMs, untilMs }: DnsRecord): object {
  return {
    pod,
    ...(oneOf === undefined ? { name } : { oneOf }),
    address,
    ...(from && { from }),
    toldAt: new Date(toldMs).toISOString(),
    until: new Date(untilMs).toISOString(),
  };
}

const FAMILY_WORDS: Record<Family, 'ipv4' | 'ipv6'> = { ip: 'ipv4', ip6: 'ipv6' };

/** The addresses of a flow, without those that only represent an end of unknown address. */
function addressesOf({ flow, fromRange, toRange }: JudgedFlow): object {
  return { ...(!fromRange && { from: flow.from }), ...(!toRange && { to: flow.to }) };
}

function directionObject(
  { pod, verdict, stops }: DirectionWalk,
  decisive: JudgedFlow,
  statuses: StatusesByPolicy,
): object {
  const named = stops.map(stop => ({
    ...stop,
    ...(stop.text && { text: withNames(stop.text, decisive) }),
    ...(statuses.has(stop.policy) && { statuses: statuses.get(stop.policy) }),
  }));
  return { ...(pod && { pod }), ...verdict, reason: withNames(verdict.reason, decisive), stops: named };
}

function missObject(direction: Direction, { needs, ...miss }: NearMiss, decisive: JudgedFlow): object {
  return { direction, ...miss, needs: needs.map(need => withNames(need, decisive)) };
}

// Near misses and fixes of an answer.

/** Rules that nearly allow a direction that is denied. */
export function nearMissesOf(
  { decisive, cluster, question, inventory }: Answer,
  direction: Direction,
  unknownPods: UnknownPods,
) {
  if (decisive === undefined || decisive.verdict[direction].verdict === 'allow') return [];
  const flow = flowSeenBy(direction, decisive);
  const misses = nearMisses(cluster, flow, direction, unknownPods, {
    workloads: inventory.workloads.values(),
    servicePorts: servicePortsOf(decisive, flow, question.to, inventory),
  });
  // An address that only represents a range has no name, so no answer of DNS would allow it.
  return decisive.toRange === undefined ? misses : misses.filter(({ needs }) => !needs.some(isOfDns));
}

/** The port of the Service that was dialled, and those of the Services that lead to this port of the pod. */
function servicePortsOf(
  { to: { service, endpoint } }: JudgedFlow,
  flow: Flow,
  asked: string,
  inventory: Inventory,
): readonly number[] {
  const port = Number(parseEndpoint(asked).port);
  const pod = podOf(endpoint);
  return [
    ...(service !== undefined && port > 0 ? [port] : []),
    ...(pod === undefined ? [] : servicePortsTo(pod, flow, inventory)),
  ];
}

const isOfDns = (need: string) => need.includes(' had received a DNS answer that ');

/** The verdict that a fix is to bring about, or whichever the question does not have. */
export type WantedFix = 'allow' | 'deny' | 'other';

/** The wanted verdict for everything that the question means. */
export function fixOf(
  { cases, cluster, verdict }: Answer,
  { cluster: known, inventory, unknownPods, mayNotList }: ClusterView,
  wanted: WantedFix = 'other',
  written?: Written,
): Fix | string {
  if (verdict === 'undecided') return 'there is no verdict to turn';
  // Applied again and again, a fix must not be turned back.
  if (verdict === wanted)
    return `it is ${verdict === 'allow' ? 'allowed' : 'denied'} already, so there is nothing to apply`;
  if (cases.some(each => isSeenOtherwise(each) && each.to.translation !== undefined))
    return 'a node port is fixed by the pod behind it: ask for that';
  const ends = cases.flatMap(({ from, fromRange, to: { endpoint }, toRange }) => [
    ...(fromRange ? [from] : []),
    ...(toRange ? [endpoint] : []),
  ]);
  const isMeant = ({ unassigned, domain, isInternet }: ResolvedEndpoint) =>
    unassigned?.pod !== undefined || domain !== undefined || isInternet;
  if (ends.some(({ service }) => service === API_SERVER))
    return 'the endpoints of the API server are not known: name them with --api-server';
  if (!ends.every(isMeant)) return 'an end that is many addresses has no smallest change: name one address';
  const meaning = { known, inventory, ...meaningOf(cases) };
  const fix = proposeFix(
    { cluster, unknownPods, flows: cases.map(({ flow }) => flow), meaning },
    decode,
    // A label or port that nobody seems to have may be of those that the caller may not list.
    ['pods', 'namespaces'].some(plural => mayNotList?.(plural)) ? undefined : written,
  );
  return typeof fix === 'string' ? fix : { ...fix, remarks: remarksOf(cases) };
}

/** Remarks on addresses that a policy has to name, because no pod has them. */
function remarksOf(cases: Answer['cases']): ReadonlyMap<string, string> {
  const remarks = new Map<string, string>();
  const add = (address: Address, end: ResolvedEndpoint, service?: ServiceKey) => {
    if (service === undefined || podOf(end) !== undefined) return;
    remarks.set(`${address}/${addressBits(familyOf(address))}`, endpointRemark(service));
  };
  for (const { flow, from, to } of cases) {
    add(flow.from, from, from.service);
    add(flow.to, to.endpoint, to.service?.key);
  }
  return remarks;
}

/** What the addresses of the flows mean. */
function meaningOf(cases: Answer['cases']): Omit<Meaning, 'known' | 'inventory'> {
  const [from, to] = [cases[0] && groupOf(cases[0].from), cases[0] && targetGroup(cases[0].to)];
  const ends = cases.flatMap(({ flow, from, to: { endpoint } }) => [
    [flow.from, from] as const,
    [flow.to, endpoint] as const,
  ]);
  return {
    ...(from && { from }),
    ...(to && { to }),
    domains: new Map(
      ends.flatMap(([at, { domain }]) => (domain === undefined ? [] : [[at, domain] as const])),
    ),
    internet: new Set(ends.flatMap(([at, { isInternet }]) => (isInternet ? [at] : []))),
  };
}

function groupOf({ workload: id }: ResolvedEndpoint): PodGroup | undefined {
  return id && { kind: 'workload', id };
}

function targetGroup({ endpoint, service, isOneEndpoint }: Target): PodGroup | undefined {
  return service === undefined || isOneEndpoint ? groupOf(endpoint) : { kind: 'service', service };
}

function decode(object: PolicyObject): Policy | undefined {
  const { event, problems } = decodeObject(object);
  return problems.length === 0 && event?.type === 'policy' ? event.value : undefined;
}

function fixObject(fix: Fix | string): object {
  if (typeof fix === 'string') return { none: fix };
  const { verdict, objects, flips, allPorts, edits } = fix;
  const [also, against] = [true, false].map(isAlike =>
    distinctFlips(flips)
      .filter(flip => (flip.verdict === verdict) === isAlike)
      .map(({ from, to, flow: { protocol, port } }) => ({ from, to, protocol, port })),
  );
  return { verdict, objects, ...(edits && { edits, against }), also, allPorts };
}
