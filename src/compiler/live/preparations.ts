/**
 * Policies that are about to be taken in, and the groups of peers that they will need. A group takes in all of its pods
 * when it begins, and a policy may have hundreds of them: they begin before it, some in each flush, while nothing in force
 * leads to them. Whoever changes a policy of thousands of members waits for itself, and nobody for it.
 *
 *     prepare(policies) ─▶ each flush begins some groups, of each policy one in turn ─▶ isReady ─▶ the policy is noted,
 *                                                                                    and finds its groups full
 *
 * What the rules mean never depends on it: a policy that is noted without it has its groups in the same flush.
 */
import { FAMILIES, type Family } from '../../model/address.ts';
import type { Pieces } from '../../model/pieces.ts';
import type { Direction, Policy, Rule } from '../../model/policy.ts';
import { countEntries } from '../../model/policysize.ts';
import { makeClass, memberOf, type PodClass, subjectSelects } from '../classes.ts';
import type { NamedGroup } from '../group.ts';
import type { ClassBuilder } from '../parts.ts';
import type { LiveClasses } from './classes.ts';
import type { LiveGroups } from './groups.ts';
import type { PodIndex } from './podindex.ts';

const DIRECTIONS: readonly Direction[] = ['ingress', 'egress'];

/** What the policies may weigh that begin in one flush; a single one may weigh more. */
const MOST_BEGUN = 3_000;
/** A group that asks about fewer pods than this costs as if it asked about so many. */
const LEAST_ASKED = 20;

/** Who asks more is many anyway. */
const MOST_COUNTED = 20_000;

/** A group in the tables that will name it. */
interface Need {
  readonly group: NamedGroup;
  readonly families: readonly Family[];
}

interface Preparation {
  readonly builders: readonly ClassBuilder[];
  /** Groups that live, and do so until the preparation ends. */
  readonly held: Need[];
  readonly missing: Need[];
}

/** It has peers of which only the cluster tells how many they are. */
function needsPreparation({ ingress = [], egress = [], audited }: Policy): boolean {
  const isOfCluster = ({ peers }: Rule) =>
    peers !== 'any' && peers.some(({ kind }) => kind === 'pods' || kind === 'nodes');
  return !audited && [...ingress, ...egress].some(isOfCluster);
}

export class LivePreparations {
  readonly #podIndex: PodIndex;
  readonly #groups: LiveGroups;
  readonly #classes: LiveClasses;
  readonly #node: string;
  /** Those whose last turn is longest ago come first. */
  readonly #preparations = new Map<Policy, Preparation>();
  #wanted: ReadonlySet<Policy> = new Set();

  constructor(podIndex: PodIndex, groups: LiveGroups, classes: LiveClasses, node: string) {
    this.#podIndex = podIndex;
    this.#groups = groups;
    this.#classes = classes;
    this.#node = node;
  }

  /** From now on of these policies, and of no others. */
  want(policies: Iterable<Policy>): void {
    const now = new Set([...policies].filter(needsPreparation));
    // Whoever edits a policy again and again has a new one, which goes behind those of others.
    this.#wanted = new Set([...[...this.#wanted].filter(policy => now.has(policy)), ...now]);
  }

  isReady(policy: Policy): boolean {
    return !needsPreparation(policy) || this.#preparations.get(policy)?.missing.length === 0;
  }

  /** About how many pods its groups would ask if none of them were there yet; no further than to `MOST_COUNTED`. */
  asks({ ingress = [], egress = [] }: Policy): number {
    let asked = 0;
    for (const { peers } of [...ingress, ...egress])
      for (const peer of peers === 'any' ? [] : peers)
        if (peer.kind === 'pods') asked += this.#podIndex.countAsked(peer.selector, MOST_COUNTED - asked);
    return asked;
  }

  /** Something is left to do. */
  get isBehind(): boolean {
    return (
      this.#wanted.size !== this.#preparations.size || [...this.#wanted].some(policy => !this.isReady(policy))
    );
  }

  /** New groups may ask about so many pods. */
  *advance(most: number): Pieces<void> {
    const wanted = this.#wanted;
    yield* this.#beginSome(wanted);
    for (const [policy, preparation] of this.#preparations)
      if (!wanted.has(policy)) this.#end(policy, preparation);
    yield* this.#fill(most);
  }

  /** To make what a policy needs takes long by itself: others begin in later flushes. */
  *#beginSome(wanted: Iterable<Policy>): Pieces<void> {
    let begun = 0;
    for (const policy of wanted) {
      if (this.#preparations.has(policy)) continue;
      this.#preparations.set(policy, yield* this.#begin(policy));
      begun += countEntries(policy);
      if (begun >= MOST_BEGUN) return;
    }
  }

  /** Groups that live already are held from here on: the version before it, which is in force, may go. */
  *#begin(policy: Policy): Pieces<Preparation> {
    const preparation: Preparation = { builders: yield* this.#build(policy), held: [], missing: [] };
    for (const need of needsOf(preparation.builders)) {
      if (this.#groups.has(need.group)) this.#hold(need, preparation);
      else preparation.missing.push(need);
    }
    return preparation;
  }

  /** What a pod of this node needs that no other policy selects: of most policies that is what they need on any. */
  *#build(policy: Policy): Pieces<ClassBuilder[]> {
    const builders: ClassBuilder[] = [];
    for (const podClass of this.#classesOf(policy))
      for (const family of FAMILIES) builders.push(yield* this.#classes.make('prepared', podClass, family));
    return builders;
  }

  #classesOf(policy: Policy): PodClass[] {
    for (const { pod, namespace } of this.#podIndex.onNode(this.#node)) {
      const member = memberOf(policy, subjectSelects(policy, pod, namespace));
      if (member === undefined) continue;
      const affected = DIRECTIONS.filter(direction => member[direction] !== undefined);
      return affected.map(direction => makeClass(pod, direction, [member]));
    }
    return [];
  }

  /** Of each policy one group in turn; the next flush goes on with the policy whose last turn is longest ago. */
  *#fill(most: number): Pieces<void> {
    let asked = 0;
    for (let behind = [...this.#preparations]; behind.length > 0; ) {
      behind = behind.filter(([, { missing }]) => missing.length > 0);
      for (const [policy, preparation] of behind) {
        asked += Math.max(LEAST_ASKED, this.#hold(preparation.missing.pop()!, preparation));
        this.#preparations.delete(policy);
        this.#preparations.set(policy, preparation); // behind all others
        yield;
        if (asked >= most) return;
      }
    }
  }

  #hold(need: Need, { held }: Preparation): number {
    held.push(need);
    const asked = need.families.map(family => this.#groups.acquire(need.group, family));
    return Math.max(...asked);
  }

  #end(policy: Policy, { builders, held }: Preparation): void {
    this.#preparations.delete(policy);
    for (const { group, families } of held)
      for (const family of families) this.#groups.release(group, family);
    for (const builder of builders) this.#classes.forget(builder);
  }
}

function needsOf(builders: readonly ClassBuilder[]): Need[] {
  const all = builders.flatMap(builder => [builder, ...[...builder.shared].map(({ made }) => made)]);
  const uses = all.flatMap(({ family, groups }) => [...groups.values()].map(group => ({ group, family })));
  const ofPods = uses.filter(({ group }) => group.group.kind !== 'names'); // answers fill those
  const byName = Map.groupBy(ofPods, ({ group }) => group.name).values();
  return [...byName].map(its => ({
    group: its[0]!.group,
    families: [...new Set(its.map(({ family }) => family))],
  }));
}
