/**
 * What policies say about the ends of one reach, taken over into another one in which policies tell pods, nodes and
 * addresses apart by other words, as after a key in a selector:
 *
 *     before   web  db  10.0.0.0/8            an end that was there is judged as it was,
 *     now      web  db  pods app=x  10/8      and a new one as an end that no rule means
 *
 * So this holds for policies of which no rule means an end that is new. The others are judged anew.
 */

import { getOrMake } from '../../lib/collections/getormake.ts';
import type { Direction, Policy } from '../../model/policy.ts';
import type { ClusterIndex } from './clusterindex.ts';
import type { ConnectionPool } from './connections.ts';
import { type End, type FamilyEnds, PeerSets } from './familyends.ts';
import { type Judgement, type UnknownAddresses, withUnknown } from './judgement.ts';
import type { NodeMeaning } from './nodeends.ts';
import { SelectedTemplates } from './templates.ts';

/** The ends of a family, and what tells them apart. */
interface Ground {
  readonly clusterIndex: ClusterIndex;
  readonly ends: FamilyEnds;
}

export class Carrier {
  readonly #pool: ConnectionPool;
  readonly #ends: FamilyEnds;
  /** For each end, the one that it was, or `NEW`. */
  readonly #was: Int32Array;
  readonly #isSame: boolean;
  /** The peers of rules among the new ends. */
  readonly #newPeers: PeerSets;
  /** One judgement may be that of many ends. */
  readonly #carried = new Map<Judgement, Judgement | undefined>();
  readonly #meansNew = { ingress: new Map<Policy, boolean>(), egress: new Map<Policy, boolean>() };

  constructor(pool: ConnectionPool, now: Ground, before: Ground) {
    this.#pool = pool;
    this.#ends = now.ends;
    this.#was = endsBefore(now, before);
    this.#isSame = this.#was.length === before.ends.all.length && this.#was.every((was, i) => was === i);
    const isNew = (_: End, i: number) => this.#was[i] === NEW;
    this.#newPeers = peersAmong(now, now.ends.all.filter(isNew));
  }

  /** Undefined if the policies have to be judged anew. `before` is what they said. */
  carried(
    direction: Direction,
    policies: readonly Policy[],
    before: Judgement,
    of: UnknownAddresses,
  ): Judgement | undefined {
    if (this.#isSame) return before;
    return getOrMake(this.#carried, before, () => this.#carry(direction, policies, before, of));
  }

  #carry(
    direction: Direction,
    policies: readonly Policy[],
    before: Judgement,
    of: UnknownAddresses,
  ): Judgement | undefined {
    if (policies.some(policy => this.#meansNewEnd(direction, policy))) return undefined;
    const { none, all } = this.#pool;
    const unmeant = policies.some(policy => isolates(policy, direction)) ? none : all;
    const was = this.#was;
    const allowed = new Uint32Array(was.length);
    for (let i = 0; i < was.length; i++) allowed[i] = was[i] === NEW ? unmeant.id : before.allowed[was[i]!]!;
    return {
      allowed: withUnknown(this.#pool, this.#ends, allowed, of[direction]),
      isOpen: before.isOpen && unmeant === all,
    };
  }

  #meansNewEnd(direction: Direction, policy: Policy): boolean {
    return getOrMake(this.#meansNew[direction], policy, () =>
      (policy[direction] ?? []).some(rule => {
        const { yes, indeterminate } = this.#newPeers.of(rule, NO_NAMES);
        return !yes.isEmpty() || !indeterminate.isEmpty();
      }),
    );
  }
}

function isolates(policy: Policy, direction: Direction): boolean {
  return policy.tier === 'networkpolicy' && policy[direction] !== undefined;
}

const NEW = -1;
const NO_NAMES: ReadonlySet<string> = new Set();

/**
 * For each end, the end before that means the same to every policy that was there before, or `NEW`. Words that only one of
 * the two has do not count.
 */
function endsBefore(now: Ground, before: Ground): Int32Array {
  const { vocabulary, templates } = now.clusterIndex;
  const known = before.clusterIndex;
  const networks = indexesIn(known.vocabulary.networks, vocabulary.networks);
  const nodes = indexesIn(known.vocabulary.nodes, vocabulary.nodes);
  const template = templates.indexesIn(known.templates);
  const regions = regionsBefore(now, before, networks);
  const meaning = ({ nodeSelectors, networks: meant }: NodeMeaning): NodeMeaning => ({
    nodeSelectors: translated(nodeSelectors, nodes),
    networks: translated(meant, networks),
  });
  const { possible } = before.ends;
  const isSameChoice =
    now.ends.possible.length === possible.length &&
    now.ends.possible.every((region, i) => regions[region]!.includes(possible[i]!));
  return Int32Array.from(now.ends.all, end => {
    if (end.oneOf !== undefined && !isSameChoice) return NEW;
    const was = { ...end, accepted: meaning(end.accepted), denied: meaning(end.denied) };
    const index = end.template === undefined ? {} : { template: template[end.template]! };
    for (const region of regions[end.region]!) {
      const found = before.ends.find({ ...was, ...index, region });
      if (found !== undefined) return found;
    }
    return NEW;
  });
}

/** For each word, its index among other words, or `NEW`. */
function indexesIn(
  before: ReadonlyMap<string, unknown>,
  words: ReadonlyMap<string, unknown>,
): readonly number[] {
  const indexes = new Map([...before.keys()].map((text, i) => [text, i]));
  return [...words.keys()].map(text => indexes.get(text) ?? NEW);
}

function translated(words: Iterable<number>, indexes: readonly number[]): number[] {
  const found: number[] = [];
  // Beyond the words there are the pod networks, of which an end says itself what they mean.
  for (const word of words) if ((indexes[word] ?? NEW) !== NEW) found.push(indexes[word]!);
  return found.sort(byNumber);
}

/** For each region those before that the networks which both know have in the same way. */
function regionsBefore(
  now: Ground,
  before: Ground,
  networks: readonly number[],
): readonly (readonly number[])[] {
  const inBoth = new Set(networks);
  const known = new Map<string, number[]>();
  for (const [i, region] of before.ends.regions.all.entries()) {
    const own = [...region.networks].filter(network => inBoth.has(network));
    getOrMake(known, String(own), () => []).push(i);
  }
  return now.ends.regions.all.map(region => known.get(String(translated(region.networks, networks))) ?? []);
}

function byNumber(a: number, b: number): number {
  return a - b;
}

/** Finds which of some ends the peers of rules are. */
function peersAmong({ clusterIndex, ends }: Ground, some: readonly End[]): PeerSets {
  const used = [...new Set(some.flatMap(({ template }) => template ?? []))];
  const places = new Map(used.map((template, i) => [template, i]));
  const all = used.map(template => clusterIndex.templates.all[template]!);
  const own = some.map(({ template, ...end }) =>
    template === undefined ? end : { ...end, template: places.get(template)! },
  );
  return new PeerSets(
    { vocabulary: clusterIndex.vocabulary, templates: { all }, selected: new SelectedTemplates(all) },
    { all: own, regions: ends.regions },
  );
}
