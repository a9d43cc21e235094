/** An answer with all that is known of it: near misses and fixes, and as JSON (docs/schema/sluice-v1.json). */

import { decodeObject } from '../../inputs/kube/decode/decode.ts';
import type { Family } from '../../model/address.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { Direction, Policy } from '../../model/policy.ts';
import type { DnsRecord } from '../../names/dnscache.ts';
import type { DirectionWalk } from '../../semantics/explain.ts';
import { versioned } from '../schema.ts';
import { type Answer, endHost, groupsOf } from './answer.ts';
import type { QuestionResult } from './ask.ts';
import { type Fix, proposeFix } from './fix/fix.ts';
import type { PolicyObject } from './fix/proposal.ts';
import { flowSeenBy, isSeenOtherwise, type JudgedFlow, walkSeen, withNames } from './judge.ts';
import { type NearMiss, nearMisses } from './nearmiss.ts';
import type { StatusesByPolicy } from './statuses.ts';

export function answerObject(
  asked: QuestionResult,
  unknownPods: UnknownPods,
  notes: readonly string[],
  withFix = false,
): object {
  if ('error' in asked) {
    const { question, error } = asked;
    const words = 'line' in question ? { line: question.line } : { from: question.from, to: question.to };
    return versioned('Explanation', { ...words, error });
  }
  const { question, verdict, reason, families, differsBy, cases, decisive, cluster, resolved } = asked.answer;
  const { statuses } = asked.answer;
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
    ...(withFix && { fix: fixObject(fixOf(asked.answer, unknownPods)) }),
    notes: [...notes, ...asked.answer.notes],
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
export function nearMissesOf({ decisive, cluster }: Answer, direction: Direction, unknownPods: UnknownPods) {
  if (decisive === undefined || decisive.verdict[direction].verdict === 'allow') return [];
  const misses = nearMisses(cluster, flowSeenBy(direction, decisive), direction, unknownPods);
  // An address that only represents a range has no name, so no answer of DNS would allow it.
  return decisive.toRange === undefined ? misses : misses.filter(({ needs }) => !needs.some(isOfDns));
}

const isOfDns = (need: string) => need.includes(' had received a DNS answer that ');

/** The other verdict for everything that the question means. */
export function fixOf({ cases, cluster, verdict }: Answer, unknownPods: UnknownPods): Fix | string {
  if (verdict === 'undecided') return 'there is no verdict to turn';
  if (cases.some(each => isSeenOtherwise(each) && each.to.translation !== undefined))
    return 'a node port is fixed by the pod behind it: ask for that';
  if (cases.some(({ fromRange, toRange }) => fromRange ?? toRange))
    return fixOfPlaced(cases, cluster, unknownPods);
  return proposeFix({ cluster, unknownPods, flows: cases.map(({ flow }) => flow) }, decode);
}

/** A pod that does not exist yet has labels to select; outside addresses would need a rule each. */
function fixOfPlaced(
  cases: Answer['cases'],
  cluster: Answer['cluster'],
  unknownPods: UnknownPods,
): Fix | string {
  const isPlace = cases.every(
    ({ from, to, fromRange, toRange }) =>
      (fromRange === undefined || from.unassigned?.pod !== undefined) &&
      (toRange === undefined ||
        to.endpoint.unassigned?.pod !== undefined ||
        to.endpoint.domain !== undefined),
  );
  if (!isPlace) return 'an end that is many addresses has no smallest change: name one address';
  const names = new Map(
    cases.flatMap(({ flow, to: { endpoint } }) =>
      endpoint.domain === undefined ? [] : [[flow.to, endpoint.domain] as const],
    ),
  );
  return proposeFix({ cluster, unknownPods, flows: cases.map(({ flow }) => flow), names }, decode);
}

function decode(object: PolicyObject): Policy | undefined {
  const { event, problems } = decodeObject(object);
  return problems.length === 0 && event?.type === 'policy' ? event.value : undefined;
}

function fixObject(fix: Fix | string): object {
  if (typeof fix === 'string') return { none: fix };
  const { verdict, objects, flips, allPorts } = fix;
  const also = flips.map(({ from, to, flow: { protocol, port } }) => ({ from, to, protocol, port }));
  return { verdict, objects, also, allPorts };
}
