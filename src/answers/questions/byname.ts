/**
 * What DNS has to do with a connection: the name by which an address is allowed, and what an answer would change.
 * Whoever asks of manifests alone knows no answers; the agent of the node knows those that its pods got.
 */
import { type Address, familyOf } from '../../model/address.ts';
import type { Cluster, PodKey } from '../../model/cluster.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { ToldAsOf, ToldFact } from '../../names/toldfacts.ts';
import { evaluator } from '../../semantics/evaluate.ts';
import { toldElsewhere } from './elsewhere.ts';
import type { EndName, NamedEnd } from './endname.ts';
import type { Case, Judged } from './judge.ts';
import type { Place, World } from './place.ts';
import { podOf } from './ports.ts';

const MOST_PODS = 3;
const MOST_SHOWN = 5;

/** Sentences for a question whose destination is a name of the DNS, or an address that may have one. */
export function namesNotes(
  { name }: NamedEnd,
  sources: readonly Place[],
  { cases, cluster }: Pick<Judged, 'cases' | 'cluster'>,
  { known, unknownPods }: Pick<World, 'known' | 'unknownPods'>,
): readonly string[] {
  const own = podsAmong(sources.filter(source => toldElsewhere(source, known) === undefined));
  const domain = domainOf(name, cases);
  if (domain === undefined)
    return name.kind === 'address' && known !== undefined ? namesOf(name.address, own, known) : [];
  // Of a name's addresses those are allowed by it that an answer brought.
  const byName = cases.filter(({ verdict, untold }) => verdict.verdict === 'allow' && untold === 'deny');
  const held = heldNow(cluster, byName, known, unknownPods);
  const waiting = byName.filter(({ from }) => !held.some(({ pod }) => pod === podOf(from)?.key));
  return [
    ...allowedNow(held, known),
    ...onlyOnceTold(domain, waiting[0]),
    ...unheard(waiting, known),
    ...toldUnder(domain, own, known),
  ];
}

/** Of pods of other nodes that a rule by name is about. */
function unheard(waiting: readonly Case[], known: ToldAsOf | undefined): readonly string[] {
  return [...new Set(waiting.flatMap(({ from }) => toldElsewhere(from, known) ?? []))].slice(0, MOST_PODS);
}

function allowedNow(held: readonly ToldFact[], known: ToldAsOf | undefined): string[] {
  const pods = [...new Set(held.map(({ pod }) => pod))].slice(0, MOST_PODS);
  return pods.map(pod => {
    const own = held.filter(fact => fact.pod === pod).slice(-MOST_SHOWN);
    const texts = own.map(
      ({ address, untilMs }) => `${address} for ${spanText(untilMs - known!.nowMs)} more`,
    );
    return `allowed now${pods.length > 1 ? ` to ${pod}` : ''}, for ${texts.join(', ')}`;
  });
}

/** Also of a Service that is another name of it. */
function domainOf(name: EndName, cases: readonly Case[]): string | undefined {
  if (name.kind === 'domain') return name.name;
  return cases.find(({ to }) => to.place.domain !== undefined)?.to.place.domain;
}

/** What the agent knows of the question: of its pods, and of the name or the address that they go to. */
export function toldOf(
  { name }: NamedEnd,
  sources: readonly Place[],
  known: ToldAsOf | undefined,
): readonly ToldFact[] {
  if (known === undefined || (name.kind !== 'domain' && name.kind !== 'address')) return [];
  const pods = podsAmong(sources);
  const isMeant = (fact: ToldFact) =>
    name.kind === 'domain' ? fact.name === name.name : fact.address === name.address;
  return pods.flatMap(pod => [...known.facts.of(pod)].filter(fact => isMeant(fact) && fact.untilMs > 0));
}

function podsAmong(sources: readonly Place[]): readonly PodKey[] {
  return sources.flatMap(source => podOf(source)?.key ?? []).slice(0, MOST_PODS);
}

function onlyOnceTold(name: string, byName: Case | undefined): string[] {
  if (byName === undefined) return [];
  return [
    `allowed once an answer of DNS to ${byName.from.name} has brought the address of ${name}, for its TTL and 10 s (2 min at least, unless the agent's --dns-floor says otherwise); denied until then`,
  ];
}

function toldUnder(name: string, pods: readonly PodKey[], known: ToldAsOf | undefined): string[] {
  if (known === undefined) return [];
  const { facts, nowMs } = known;
  return pods.flatMap(pod => {
    const now = [...facts.of(pod)].filter(fact => fact.name === name && fact.untilMs > nowMs);
    if (now.length === 0) return [`${pod} was told no address of ${name} that holds now`];
    const more = now.length - MOST_SHOWN;
    return [
      ...now.slice(-MOST_SHOWN).map(fact => `${name} is ${fact.address} to ${pod}: ${heldText(fact, nowMs)}`),
      ...(more > 0 ? [`and ${more} more addresses that were told before`] : []),
    ];
  });
}

function namesOf(address: Address, pods: readonly PodKey[], { facts, nowMs }: ToldAsOf): string[] {
  // Of a connection that was open before the agent was, nobody knows when it was told.
  const all = [...facts.all()].filter(fact => fact.address === address && fact.untilMs > 0);
  return pods.flatMap(pod => {
    const own = all.filter(fact => fact.pod === pod);
    const now = own.filter(({ untilMs }) => untilMs > nowMs);
    if (now.length > 0)
      return now
        .slice(-MOST_SHOWN)
        .map(fact => `${address} is ${nameText(fact)} to ${pod}: ${heldText(fact, nowMs)}`);
    const last = own.at(-1);
    if (last !== undefined)
      return [
        `${address} was ${nameText(last)} to ${pod} until ${spanText(nowMs - last.untilMs)} ago: the next answer of DNS brings it back`,
      ];
    const others = all.find(({ pod: other, untilMs }) => other !== pod && untilMs > nowMs);
    return others === undefined
      ? []
      : [`${address} is ${nameText(others)} to ${others.pod}; ${pod} was not told so`];
  });
}

function nameText({ name, oneOf }: ToldFact): string {
  return oneOf === undefined ? name : `one of ${oneOf.slice(0, MOST_SHOWN).join(', ')}`;
}

/** `10.0.0.53 told it 12 s ago, and it holds for 1 min 48 s more`. */
function heldText({ from, toldMs, untilMs, oneOf }: ToldFact, nowMs: number): string {
  const left = `it holds for ${spanText(untilMs - nowMs)} more`;
  if (oneOf !== undefined) return `it was told before the agent started, and ${left}`;
  return `${from ?? 'DNS'} told it ${spanText(nowMs - toldMs)} ago, and ${left}`;
}

/** `45 s`, `2 min 5 s`, `3 h 10 min`. */
export function spanText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 60) return `${seconds} s`;
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3_600)];
  const [big, small] =
    hours > 0 ? [`${hours} h`, `${minutes % 60} min`] : [`${minutes} min`, `${seconds % 60} s`];
  return small.startsWith('0 ') ? big : `${big} ${small}`;
}

// The addresses of a name that a pod was told and may connect to now.

/** Of cases that wait for an answer to bring an address of the name. */
function heldNow(
  cluster: Cluster,
  waiting: readonly Case[],
  known: ToldAsOf | undefined,
  unknownPods: UnknownPods,
): readonly ToldFact[] {
  if (known === undefined || waiting.length === 0) return [];
  const evaluate = evaluator(cluster, unknownPods);
  const found = waiting.flatMap(({ from, to, flow, family }) => {
    const pod = podOf(from)?.key;
    const facts = pod === undefined ? [] : [...known.facts.of(pod)];
    return facts.filter(
      ({ name, address, untilMs }) =>
        name === to.place.domain &&
        untilMs > known.nowMs &&
        familyOf(address) === family &&
        evaluate({ ...flow, to: address }).verdict === 'allow',
    );
  });
  return [...new Set(found)];
}
