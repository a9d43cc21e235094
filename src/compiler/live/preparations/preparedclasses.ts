/** Classes that pods will join soon. They are compiled, but not in use, and are found here when pods join them. */
import { getOrMake } from '../../../lib/collections/getormake.ts';
import type { Family } from '../../../model/address.ts';
import { chainsEqual, setsEqual } from '../../../nft/plan/equal.ts';
import type { Chain, NftSet } from '../../../nft/ruleset.ts';
import type { Builder } from '../../builder.ts';
import { type PodClass, samePolicies } from '../../classes.ts';
import type { NamedGroup } from '../../group.ts';
import type { ClassBuilder, Part } from '../../parts.ts';

interface PreparedClass {
  readonly podClass: PodClass;
  readonly isBundled: boolean;
  readonly builders: readonly ClassBuilder[];
}

interface Known {
  prepared: PreparedClass;
  uses: number;
  /** Whether it may be staged: in the tables before pods join it. */
  isStaged: boolean;
}

export class PreparedClasses {
  /**
   * Prepared classes by name: one for each version of its policies, because several changes may be prepared at once.
   */
  readonly #classes = new Map<string, Known[]>();
  /** How many prepared classes need each part. */
  readonly #parts = new Map<Part, number>();
  readonly #stagedParts = new WeakSet<Part>();

  /** The builders of the class with exactly these policy objects, if it is prepared in that form. */
  madeOf(name: string, podClass: PodClass, isBundled: boolean): readonly ClassBuilder[] | undefined {
    const prepared = this.#of(name, podClass)?.prepared;
    return prepared?.isBundled === isBundled ? prepared.builders : undefined;
  }

  /** Whether the class was prepared with bundled policies; undefined if it is not prepared. */
  isBundled(name: string, podClass: PodClass): boolean | undefined {
    return this.#of(name, podClass)?.prepared.isBundled;
  }

  #of(name: string, podClass: PodClass): Known | undefined {
    return this.#classes.get(name)?.find(({ prepared }) => samePolicies(prepared.podClass, podClass));
  }

  /**
   * Keeps a class, in place of an earlier one with the same policies, until `forget` was called as often as `add`.
   * Returns the builders that are no longer kept.
   */
  add(name: string, prepared: PreparedClass): readonly ClassBuilder[] {
    const known = this.#of(name, prepared.podClass);
    if (known !== undefined) known.uses++;
    else getOrMake(this.#classes, name, () => []).push({ prepared, uses: 1, isStaged: false });
    const before = known?.prepared;
    if (before?.builders === prepared.builders) return [];
    for (const part of partsOf(prepared.builders)) this.#parts.set(part, (this.#parts.get(part) ?? 0) + 1);
    if (known === undefined) return [];
    known.prepared = prepared;
    return this.#drop(before!);
  }

  /** Returns the builders that are no longer kept. */
  forget(name: string, podClass: PodClass): readonly ClassBuilder[] {
    const known = this.#of(name, podClass);
    if (known === undefined || --known.uses > 0) return [];
    const others = this.#classes.get(name)!.filter(other => other !== known);
    if (others.length > 0) this.#classes.set(name, others);
    else this.#classes.delete(name);
    return this.#drop(known.prepared);
  }

  /** Stages the class from now on. Returns its builders that were not staged before. */
  stage(name: string, podClass: PodClass): readonly Builder[] {
    const known = this.#of(name, podClass);
    if (known === undefined || known.isStaged) return [];
    known.isStaged = true;
    const { builders } = known.prepared;
    const parts = partsOf(builders).filter(part => !this.#stagedParts.has(part));
    for (const part of parts) this.#stagedParts.add(part);
    return [...builders, ...parts.map(({ made }) => made)];
  }

  /** The classes that are staged, in the order in which they were staged. */
  staged(): (readonly ClassBuilder[])[] {
    const known = [...this.#classes.values()].flat().filter(({ isStaged }) => isStaged);
    return known.map(({ prepared }) => prepared.builders);
  }

  has(part: Part): boolean {
    return this.#parts.has(part);
  }

  #drop({ builders }: PreparedClass): readonly ClassBuilder[] {
    for (const part of partsOf(builders)) {
      const left = this.#parts.get(part)! - 1;
      if (left > 0) this.#parts.set(part, left);
      else this.#parts.delete(part);
    }
    return builders;
  }
}

export function partsOf(builders: Iterable<ClassBuilder>): Part[] {
  return [...builders].flatMap(({ shared }) => [...shared]);
}

interface Named {
  readonly chains: ReadonlyMap<string, Chain>;
  readonly sets: ReadonlyMap<string, NftSet>;
}

/** The objects that the classes of pods need, by name, and the groups that have sets. */
export interface InForce {
  chain(family: Family, name: string): Chain | undefined;
  set(family: Family, name: string): NftSet | undefined;
  hasGroup(family: Family, group: NamedGroup): boolean;
}

export type Staged = Readonly<Record<Family, Named>>;

export const NOTHING_STAGED: Staged = {
  ip: { chains: new Map(), sets: new Map() },
  ip6: { chains: new Map(), sets: new Map() },
};

/**
 * The objects of staged classes: classes that pods will join soon, added to the tables before any packet reaches them.
 * The batch in which pods join them then finds their chains there, which keeps it short. They change the verdict of no
 * packet.
 *
 * A class is staged as a whole or not at all. An existing object of the same name has to be equal, so that no object in
 * force is changed and no staged object refers to one that may be deleted. If two of these classes have different
 * objects of one name, the first class is staged.
 */
export function stagedObjects(classes: Iterable<readonly ClassBuilder[]>, inForce: InForce): Staged {
  const ahead = { ip: new StagedInFamily('ip', inForce), ip6: new StagedInFamily('ip6', inForce) };
  for (const builders of classes) for (const builder of builders) ahead[builder.family].add(builder);
  return ahead;
}

/** How much there is to add, in elements of sets: a rule counts as five. */
export function weightInElements({ chains, sets }: Builder): number {
  const rules = [...chains.values()].reduce((sum, chain) => sum + 1 + chain.rules.length, 0);
  const elements = [...sets.values()].reduce((sum, set) => sum + set.elements.size, 0);
  return 5 * (rules + sets.size) + elements;
}

class StagedInFamily implements Named {
  readonly chains = new Map<string, Chain>();
  readonly sets = new Map<string, NftSet>();
  readonly #family: Family;
  readonly #inForce: InForce;
  /** The builders that were added; several classes may share one. */
  readonly #added = new Set<Builder>();
  readonly #unfit = new Set<Builder>();

  constructor(family: Family, inForce: InForce) {
    this.#family = family;
    this.#inForce = inForce;
  }

  add(builder: ClassBuilder): void {
    const all = [builder, ...[...builder.shared].map(({ made }) => made)];
    if (all.some(each => this.#unfit.has(each)) || !all.every(each => this.#fits(each))) return;
    for (const each of all) this.#put(each);
  }

  #fits(builder: Builder): boolean {
    if (this.#added.has(builder)) return true;
    const fits = this.#hasGroups(builder) && this.#isFree(builder);
    if (!fits) this.#unfit.add(builder);
    return fits;
  }

  #hasGroups({ groups }: Builder): boolean {
    return [...groups.values()].every(group => this.#inForce.hasGroup(this.#family, group));
  }

  #isFree({ chains, sets }: Builder): boolean {
    return (
      [...chains.values()].every(chain => isSame(this.#chain(chain.name), chain, chainsEqual)) &&
      [...sets.values()].every(set => isSame(this.#set(set.name), set, setsEqual))
    );
  }

  #chain(name: string): Chain | undefined {
    return this.#inForce.chain(this.#family, name) ?? this.chains.get(name);
  }

  #set(name: string): NftSet | undefined {
    return this.#inForce.set(this.#family, name) ?? this.sets.get(name);
  }

  #put(builder: Builder): void {
    if (this.#added.has(builder)) return;
    this.#added.add(builder);
    for (const chain of builder.chains.values())
      if (this.#chain(chain.name) === undefined) this.chains.set(chain.name, chain);
    for (const set of builder.sets.values())
      if (this.#set(set.name) === undefined) this.sets.set(set.name, set);
  }
}

/** Whether an existing object is equal to the staged one, or there is none. */
function isSame<T>(there: T | undefined, wanted: T, equal: (a: T, b: T) => boolean): boolean {
  return there === undefined || equal(there, wanted);
}
