/**
 * The part of DNS in a connection: the name by which an address is allowed, and what an answer would change. Manifests
 * have no answers of DNS; the agent of a node knows those that its pods received.
 */
import { spanText } from '../../lib/text/spantext.ts';
import { type Address, familyOf } from '../../model/address.ts';
import type { Cluster, PodKey } from '../../model/cluster.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { DnsRecord, DnsSnapshot } from '../../names/dnscache.ts';
import { evaluator } from '../../semantics/evaluate.ts';
import type { EndpointName, NamedEndpoint } from './endpoint.ts';
import type { JudgedFlow, JudgedQuestion } from './judge.ts';
import { type ClusterView, podOf, type ResolvedEndpoint } from './place.ts';
import { resolvedElsewhere } from './undecided.ts';

const MOST_PODS = 3;
const MOST_SHOWN = 5;

/** Sentences for a question whose destination is a name of the DNS, or an address that may have one. */
export function namesNotes(
  { name }: NamedEndpoint,
  sources: readonly ResolvedEndpoint[],
  { cases, cluster }: Pick<JudgedQuestion, 'cases' | 'cluster'>,
  { known, unknownPods }: Pick<ClusterView, 'known' | 'unknownPods'>,
): readonly string[] {
  const own = podsAmong(sources.filter(source => resolvedElsewhere(source, known) === undefined));
  const domain = domainOf(name, cases);
  if (domain === undefined)
    return name.kind === 'address' && known !== undefined ? namesOf(name.address, own, known) : [];
  // A rule by name allows only those addresses of the name that an answer of DNS has brought.
  const byName = cases.filter(
    ({ verdict, unresolved }) => verdict.verdict === 'allow' && unresolved === 'deny',
  );
  const held = resolvedNow(cluster, byName, known, unknownPods);
  const waiting = byName.filter(({ from }) => !held.some(({ pod }) => pod === podOf(from)?.key));
  return [
    ...allowedNow(held, known),
    ...onlyOnceResolved(domain, waiting[0]),
    ...unheard(waiting, known),
    ...resolvedUnder(domain, own, known),
  ];
}

/** Source pods on other nodes, whose answers of DNS this agent does not know. */
function unheard(waiting: readonly JudgedFlow[], known: DnsSnapshot | undefined): readonly string[] {
  return [...new Set(waiting.flatMap(({ from }) => resolvedElsewhere(from, known) ?? []))].slice(
    0,
    MOST_PODS,
  );
}

function allowedNow(held: readonly DnsRecord[], known: DnsSnapshot | undefined): string[] {
  const pods = [...new Set(held.map(({ pod }) => pod))].slice(0, MOST_PODS);
  return pods.map(pod => {
    const own = held.filter(record => record.pod === pod).slice(-MOST_SHOWN);
    const texts = own.map(
      ({ address, untilMs }) => `${address} for ${spanText(untilMs - known!.nowMs)} more`,
    );
    return `allowed now${pods.length > 1 ? ` to ${pod}` : ''}, for ${texts.join(', ')}`;
  });
}

/** The DNS name that was asked for, also that of an ExternalName Service. */
function domainOf(name: EndpointName, cases: readonly JudgedFlow[]): string | undefined {
  if (name.kind === 'domain') return name.name;
  return cases.find(({ to }) => to.endpoint.domain !== undefined)?.to.endpoint.domain;
}

/**
 * The DNS records that the agent has for the question: those of the source pod, for the name or the address of the
 * destination.
 */
export function resolvedFor(
  { name }: NamedEndpoint,
  sources: readonly ResolvedEndpoint[],
  known: DnsSnapshot | undefined,
): readonly DnsRecord[] {
  if (known === undefined || (name.kind !== 'domain' && name.kind !== 'address')) return [];
  const pods = podsAmong(sources);
  const isMeant = (record: DnsRecord) =>
    name.kind === 'domain' ? record.name === name.name : record.address === name.address;
  return pods.flatMap(pod =>
    [...known.cache.of(pod)].filter(record => isMeant(record) && record.untilMs > 0),
  );
}

function podsAmong(sources: readonly ResolvedEndpoint[]): readonly PodKey[] {
  return sources.flatMap(source => podOf(source)?.key ?? []).slice(0, MOST_PODS);
}

function onlyOnceResolved(name: string, byName: JudgedFlow | undefined): string[] {
  if (byName === undefined) return [];
  return [
    `allowed once an answer of DNS to ${byName.from.name} has brought the address of ${name}, for its TTL and 10 s (2 min at least, unless the agent's --dns-floor says otherwise); denied until then`,
  ];
}

function resolvedUnder(name: string, pods: readonly PodKey[], known: DnsSnapshot | undefined): string[] {
  if (known === undefined) return [];
  const { cache, nowMs } = known;
  return pods.flatMap(pod => {
    const now = [...cache.of(pod)].filter(record => record.name === name && record.untilMs > nowMs);
    if (now.length === 0) return [`${pod} has received no DNS answer for ${name} that holds now`];
    const more = now.length - MOST_SHOWN;
    return [
      ...now
        .slice(-MOST_SHOWN)
        .map(record => `${name} is ${record.address} to ${pod}: ${heldText(record, nowMs)}`),
      ...(more > 0 ? [`and ${more} more addresses from earlier answers`] : []),
    ];
  });
}

function namesOf(address: Address, pods: readonly PodKey[], { cache, nowMs }: DnsSnapshot): string[] {
  // An address of a connection that was open before the agent started has no time (`untilMs` is 0).
  const all = [...cache.all()].filter(record => record.address === address && record.untilMs > 0);
  return pods.flatMap(pod => {
    const own = all.filter(record => record.pod === pod);
    const now = own.filter(({ untilMs }) => untilMs > nowMs);
    if (now.length > 0)
      return now
        .slice(-MOST_SHOWN)
        .map(record => `${address} is ${nameText(record)} to ${pod}: ${heldText(record, nowMs)}`);
    const last = own.at(-1);
    if (last !== undefined)
      return [
        `${address} was ${nameText(last)} to ${pod} until ${spanText(nowMs - last.untilMs)} ago: the next answer of DNS brings it back`,
      ];
    const others = all.find(({ pod: other, untilMs }) => other !== pod && untilMs > nowMs);
    return others === undefined
      ? []
      : [`${address} is ${nameText(others)} to ${others.pod}; ${pod} has received no such answer`];
  });
}

function nameText({ name, oneOf }: DnsRecord): string {
  return oneOf === undefined ? name : `one of ${oneOf.slice(0, MOST_SHOWN).join(', ')}`;
}

/** `10.0.0.53 answered so 12 s ago, and it holds for 1 min 48 s more`. */
function heldText({ from, toldMs, untilMs, oneOf }: DnsRecord, nowMs: number): string {
  const left = `it holds for ${spanText(untilMs - nowMs)} more`;
  if (oneOf !== undefined) return `the answer came before the agent started, and ${left}`;
  return `${from ?? 'DNS'} answered so ${spanText(nowMs - toldMs)} ago, and ${left}`;
}

// The addresses of a name that DNS has answered to a pod, and that it may connect to now.

/** Records of the cases that are allowed only by a name, as far as they hold now. */
function resolvedNow(
  cluster: Cluster,
  waiting: readonly JudgedFlow[],
  known: DnsSnapshot | undefined,
  unknownPods: UnknownPods,
): readonly DnsRecord[] {
  if (known === undefined || waiting.length === 0) return [];
  const evaluate = evaluator(cluster, unknownPods);
  const found = waiting.flatMap(({ from, to, flow, family }) => {
    const pod = podOf(from)?.key;
    const cache = pod === undefined ? [] : [...known.cache.of(pod)];
    return cache.filter(
      ({ name, address, untilMs }) =>
        name === to.endpoint.domain &&
        untilMs > known.nowMs &&
        familyOf(address) === family &&
        evaluate({ ...flow, to: address }).verdict === 'allow',
    );
  });
  return [...new Set(found)];
}
