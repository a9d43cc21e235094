/** The classes of local pods that are in use, and the kernel objects that they need. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import type { Pieces } from '../../lib/collections/pieces.ts';
import { FAMILIES, type Family } from '../../model/address.ts';
import type { PodKey } from '../../model/cluster.ts';
import type { PolicyId } from '../../model/policy.ts';
import { chainsEqual, setsEqual } from '../../nft/plan/equal.ts';
import type { Chain, NftSet } from '../../nft/ruleset.ts';
import type { Builder } from '../builder.ts';
import { BundledClasses } from '../bundled.ts';
import { type PodClass, samePolicies, tenantOf } from '../classes.ts';
import { ClassBuilder, type Part, Parts } from '../parts.ts';
import { buildClass, className, prepareInPieces, sharesIn } from '../program.ts';
import type { LiveGroups } from './groups/groups.ts';
import { MergedMembers } from './groups/mergedmembers.ts';
import type { LiveTables } from './livetables.ts';
import {
  NOTHING_STAGED,
  PreparedClasses,
  partsOf,
  type Staged,
  stagedObjects,
  weightInElements,
} from './preparations/preparedclasses.ts';

interface LiveClass {
  podClass: PodClass;
  readonly pods: Set<PodKey>;
  builders: readonly ClassBuilder[];
  /** Whether its small policies were bundled when it was built. */
  isBundled: boolean;
}

export class LiveClasses {
  readonly #groups: LiveGroups;
  readonly #classes = new Map<string, LiveClass>();
  readonly #prepared = new PreparedClasses();
  readonly #chains: Record<Family, UsedObjects<Chain>> = {
    ip: new UsedObjects(chainsEqual),
    ip6: new UsedObjects(chainsEqual),
  };
  readonly #sets: Record<Family, UsedObjects<NftSet>> = {
    ip: new UsedObjects(setsEqual),
    ip6: new UsedObjects(setsEqual),
  };

  readonly #merged: MergedMembers;
  readonly #bundled = new BundledClasses();
  readonly #parts = new Parts();
  /** How many classes use each part. */
  readonly #uses = new Map<Part, number>();
  readonly #readsAnswers: boolean;
  /** The objects that were staged in the last flush. */
  #staged: Staged = NOTHING_STAGED;
  /** A prepared class is staged, or was in the last flush. */
  #isStaging = false;
  /** Entries by namespace; undefined when a class has changed since they were counted. */
  #entries: ReadonlyMap<string, number> | undefined;

  constructor(groups: LiveGroups, readsAnswers: boolean) {
    this.#groups = groups;
    this.#merged = new MergedMembers(groups);
    this.#readsAnswers = readsAnswers;
  }

  /**
   * Puts the pod into the class, and builds the class if it is new or its policies have changed. Returns the class as
   * all of its pods share it.
   */
  *join(name: string, podClass: PodClass, pod: PodKey): Pieces<PodClass> {
    const live = getOrMake(
      this.#classes,
      name,
      (): LiveClass => ({ podClass, pods: new Set(), builders: [], isBundled: false }),
    );
    live.pods.add(pod);
    this.#entries = undefined;
    if (live.builders.length > 0 && samePolicies(live.podClass, podClass)) return live.podClass;
    live.podClass = podClass;
    this.#bundled.set(name, podClass);
    // Whether the class has to be bundled is known only when all of its pods have joined.
    const isBundled = this.#prepared.isBundled(name, podClass) ?? this.#bundled.has(name);
    yield* this.#rebuild(name, live, isBundled);
    return podClass;
  }

  /** Whether a pod is in the class with exactly these policy objects. */
  has(podClass: PodClass): boolean {
    const live = this.#classes.get(className(podClass));
    return live !== undefined && live.builders.length > 0 && samePolicies(live.podClass, podClass);
  }

  /**
   * Builds classes again that have to be bundled now, or no longer have to, because other classes of their namespace
   * have changed.
   */
  *settle(): Pieces<void> {
    if (!this.#bundled.takeChanged()) return;
    for (const [name, live] of this.#classes) {
      const isBundled = this.#bundled.has(name);
      if (live.isBundled !== isBundled) yield* this.#rebuild(name, live, isBundled);
    }
  }

  leave(name: string, pod: PodKey): void {
    const live = this.#classes.get(name)!;
    live.pods.delete(pod);
    this.#entries = undefined;
    if (live.pods.size > 0) return;
    this.#classes.delete(name);
    this.#bundled.delete(name);
    for (const builder of live.builders) this.#release(builder, tenantOf(live.podClass.policies));
  }

  /** Puts changed objects of classes, and staged objects of prepared classes, into the tables. */
  flushInto(tables: LiveTables): void {
    const before = this.#staged;
    this.#staged = this.#findStaged();
    for (const family of FAMILIES) {
      const [then, now, chains, sets] = [
        before[family],
        this.#staged[family],
        this.#chains[family],
        this.#sets[family],
      ];
      for (const name of [...chains.takeChanged(), ...then.chains.keys(), ...now.chains.keys()])
        tables.setChain(family, name, chains.get(name) ?? now.chains.get(name));
      for (const name of [...sets.takeChanged(), ...then.sets.keys(), ...now.sets.keys()])
        tables.setSet(family, name, sets.get(name) ?? now.sets.get(name));
    }
  }

  #findStaged(): Staged {
    if (!this.#isStaging) return NOTHING_STAGED;
    const sent = this.#prepared.staged();
    this.#isStaging = sent.length > 0;
    return stagedObjects(sent, {
      chain: (family, name) => this.#chains[family].get(name),
      set: (family, name) => this.#sets[family].get(name),
      hasGroup: (family, group) => this.#groups.isIn(family, group),
    });
  }

  /** Whether the object of this name is staged: no pod's class needs it yet. */
  isStaged(family: Family, name: string): boolean {
    const { chains, sets } = this.#staged[family];
    return chains.has(name) || sets.has(name);
  }

  get hasStaged(): boolean {
    return FAMILIES.some(family => this.#staged[family].chains.size > 0);
  }

  /** How many parts are kept: those that classes use or that are prepared. */
  get madeParts(): number {
    return this.#parts.size;
  }

  /** The policies of the classes and parts that need a chain or set of this name. */
  policiesBehind(family: Family, name: string): PolicyId[] {
    const needsIt = (builder: Builder) => builder.family === family && needs(builder, name);
    const classes = [...this.#classes.values()].filter(({ builders }) => builders.some(needsIt));
    const parts = [...this.#uses.keys()].filter(({ made }) => needsIt(made));
    const policies = [
      ...classes.map(({ podClass }) => podClass.policies),
      ...parts.map(part => part.policies),
    ];
    return [...new Set(policies.flat().map(({ id }) => id))];
  }

  /** The NetworkPolicies in the classes of a namespace. */
  tenantPolicies(namespace: string): Set<PolicyId> {
    const classes = [...this.#classes.values()].map(({ podClass }) => podClass.policies);
    const its = classes.filter(policies => tenantOf(policies) === namespace).flat();
    return new Set(its.flatMap(({ id, tier }) => (tier === 'networkpolicy' ? [id] : [])));
  }

  *#rebuild(name: string, live: LiveClass, isBundled: boolean): Pieces<void> {
    const before = live.builders;
    live.isBundled = isBundled;
    live.builders = yield* this.#build(name, live);
    for (const builder of before) this.#release(builder, tenantOf(live.podClass.policies));
  }

  *#build(name: string, { podClass, isBundled }: LiveClass): Pieces<readonly ClassBuilder[]> {
    const builders =
      this.#prepared.madeOf(name, podClass, isBundled) ?? (yield* this.#make(name, podClass, isBundled));
    for (const builder of builders) yield* this.#acquire(builder, tenantOf(podClass.policies));
    return builders;
  }

  /**
   * Builds the objects of a class without adding them to the tables. They are kept until `forget` was called as often.
   * `all` are the classes that pods join together.
   */
  *prepare(podClass: PodClass, all: readonly PodClass[] = [podClass]): Pieces<readonly ClassBuilder[]> {
    const name = className(podClass);
    const isBundled = this.#bundled.wouldBundle(podClass, all);
    const builders =
      this.#prepared.madeOf(name, podClass, isBundled) ?? (yield* this.#make(name, podClass, isBundled));
    this.#deleteUnused(this.#prepared.add(name, { podClass, isBundled, builders }));
    return builders;
  }

  /**
   * Allows the class's objects to be in the tables before pods join it (preparedclasses.ts). Returns how many objects
   * that adds, measured by `weightInElements`; 0 if its names are in use.
   */
  stage(podClass: PodClass): number {
    this.#isStaging = true;
    const sent = this.#prepared.stage(className(podClass), podClass);
    const isNew = ({ family, chains }: Builder) =>
      [...chains.keys()].every(name => this.#chains[family].get(name) === undefined);
    return sent.filter(isNew).reduce((sum, builder) => sum + weightInElements(builder), 0);
  }

  /** Drops a prepared class that is no longer needed. */
  forget(podClass: PodClass): void {
    this.#deleteUnused(this.#prepared.forget(className(podClass), podClass));
  }

  /** Deletes the parts that no class uses and that are not prepared for one. */
  #deleteUnused(builders: Iterable<ClassBuilder>): void {
    for (const part of partsOf(builders))
      if (!this.#uses.has(part) && !this.#prepared.has(part)) this.#parts.delete(part);
  }

  /**
   * How many entries of small policies the classes of a namespace have, counted for each pod: a change that gives each
   * pod a class of its own has to compile so many.
   */
  entriesIn(namespace: string): number {
    this.#entries ??= this.#countEntries();
    return this.#entries.get(namespace) ?? 0;
  }

  #countEntries(): ReadonlyMap<string, number> {
    const counted = new Map<string, number>();
    for (const [name, { pods }] of this.#classes) {
      const { namespace, entries } = this.#bundled.share(name) ?? { namespace: '', entries: 0 };
      counted.set(namespace, (counted.get(namespace) ?? 0) + entries * pods.size);
    }
    return counted;
  }

  /** About how many members the sets have that merge several peers, in the family in which they have most. */
  countMerged(podClass: PodClass): number {
    const builders = this.#classes.get(className(podClass))?.builders ?? [];
    return Math.max(0, ...builders.map(builder => this.#merged.count(builder)));
  }

  *#make(name: string, podClass: PodClass, isBundled: boolean): Pieces<ClassBuilder[]> {
    const shares = sharesIn(podClass, isBundled);
    const builders = FAMILIES.map(family => new ClassBuilder(family, this.#readsAnswers, this.#parts));
    let isMade = false;
    try {
      for (const builder of builders) {
        yield* prepareInPieces(podClass, shares, builder);
        buildClass(podClass, shares, name, builder);
        yield;
      }
      isMade = true;
      return builders;
    } finally {
      if (!isMade) this.#deleteUnused(builders);
    }
  }

  *#acquire(builder: ClassBuilder, tenant: string | undefined): Pieces<void> {
    for (const part of builder.shared) {
      const uses = this.#uses.get(part) ?? 0;
      this.#uses.set(part, uses + 1);
      if (uses === 0) yield* this.#acquireOwn(part.made, tenant);
    }
    yield* this.#acquireOwn(builder, tenant);
  }

  *#acquireOwn(
    { family, chains, sets, groups, ofTenant }: Builder,
    tenant: string | undefined,
  ): Pieces<void> {
    for (const chain of chains.values()) this.#chains[family].acquire(chain);
    for (const set of sets.values()) this.#sets[family].acquire(set);
    for (const group of groups.values()) {
      this.#groups.acquire(group, family, ofTenant.has(group.name) ? tenant : undefined);
      yield;
    }
  }

  #release(builder: ClassBuilder, tenant: string | undefined): void {
    this.#releaseOwn(builder, tenant);
    for (const part of builder.shared) {
      const uses = this.#uses.get(part)! - 1;
      if (uses > 0) this.#uses.set(part, uses);
      else this.#end(part, tenant);
    }
  }

  #end(part: Part, tenant: string | undefined): void {
    this.#uses.delete(part);
    if (!this.#prepared.has(part)) this.#parts.delete(part);
    this.#releaseOwn(part.made, tenant);
  }

  #releaseOwn({ family, chains, sets, groups, ofTenant }: Builder, tenant: string | undefined): void {
    for (const { name } of chains.values()) this.#chains[family].release(name);
    for (const { name } of sets.values()) this.#sets[family].release(name);
    for (const group of groups.values())
      this.#groups.release(group, family, ofTenant.has(group.name) ? tenant : undefined);
  }
}

function needs({ chains, sets, groups }: Builder, name: string): boolean {
  return chains.has(name) || sets.has(name) || groups.has(name);
}

/**
 * Kernel objects by name, with the number of their users. An object that is built again and is equal stays the same
 * JavaScript object.
 */
export class UsedObjects<T extends { readonly name: string }> {
  readonly #entries = new Map<string, { value: T; uses: number }>();
  readonly #equal: (a: T, b: T) => boolean;
  #changed = new Set<string>();

  constructor(equal: (a: T, b: T) => boolean) {
    this.#equal = equal;
  }

  acquire(value: T): void {
    const entry = getOrMake(this.#entries, value.name, () => ({ value, uses: 0 }));
    if (entry.uses++ === 0) this.#changed.add(value.name);
    if (this.#equal(entry.value, value)) return;
    entry.value = value;
    this.#changed.add(value.name);
  }

  release(name: string): void {
    const entry = this.#entries.get(name)!;
    if (--entry.uses > 0) return;
    this.#entries.delete(name);
    this.#changed.add(name);
  }

  get(name: string): T | undefined {
    return this.#entries.get(name)?.value;
  }

  /** The names of objects that came, went or changed since the last call. */
  takeChanged(): ReadonlySet<string> {
    const changed = this.#changed;
    if (changed.size > 0) this.#changed = new Set();
    return changed;
  }
}
