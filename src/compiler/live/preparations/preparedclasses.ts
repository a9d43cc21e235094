/** Classes that pods will be in soon: made, put nowhere, and found made when pods join them. */
import { getOrMake } from '../../../lib/collections/getormake.ts';
import type { Builder } from '../../builder.ts';
import { type PodClass, samePolicies } from '../../classes.ts';
import type { ClassBuilder, Part } from '../../parts.ts';

interface PreparedClass {
  readonly podClass: PodClass;
  readonly isBundled: boolean;
  readonly builders: readonly ClassBuilder[];
}

interface Known {
  prepared: PreparedClass;
  uses: number;
  /** It may be in the tables before pods are in it (ahead.ts). */
  isSent: boolean;
}

export class PreparedClasses {
  /** By name: of versions of its policies one each, for changes that are ready beside each other. */
  readonly #classes = new Map<string, Known[]>();
  /** How many of them have each part. */
  readonly #parts = new Map<Part, number>();
  readonly #sentParts = new WeakSet<Part>();

  /** What was made of the class with these very policies. */
  madeOf(name: string, podClass: PodClass, isBundled: boolean): readonly ClassBuilder[] | undefined {
    const prepared = this.#of(name, podClass)?.prepared;
    return prepared?.isBundled === isBundled ? prepared.builders : undefined;
  }

  /** How it was made; nothing where it was not. */
  isBundled(name: string, podClass: PodClass): boolean | undefined {
    return this.#of(name, podClass)?.prepared.isBundled;
  }

  #of(name: string, podClass: PodClass): Known | undefined {
    return this.#classes.get(name)?.find(({ prepared }) => samePolicies(prepared.podClass, podClass));
  }

  /**
   * From now on, in place of what the class was with these policies, until it is forgotten as often as it was added. Answers
   * what nobody finds any more.
   */
  add(name: string, prepared: PreparedClass): readonly ClassBuilder[] {
    const known = this.#of(name, prepared.podClass);
    if (known !== undefined) known.uses++;
    else getOrMake(this.#classes, name, () => []).push({ prepared, uses: 1, isSent: false });
    const before = known?.prepared;
    if (before?.builders === prepared.builders) return [];
    for (const part of partsOf(prepared.builders)) this.#parts.set(part, (this.#parts.get(part) ?? 0) + 1);
    if (known === undefined) return [];
    known.prepared = prepared;
    return this.#drop(before!);
  }

  /** Answers what nobody finds any more. */
  forget(name: string, podClass: PodClass): readonly ClassBuilder[] {
    const known = this.#of(name, podClass);
    if (known === undefined || --known.uses > 0) return [];
    const others = this.#classes.get(name)!.filter(other => other !== known);
    if (others.length > 0) this.#classes.set(name, others);
    else this.#classes.delete(name);
    return this.#drop(known.prepared);
  }

  /** It goes ahead from now on; answers what of it never did. */
  send(name: string, podClass: PodClass): readonly Builder[] {
    const known = this.#of(name, podClass);
    if (known === undefined || known.isSent) return [];
    known.isSent = true;
    const { builders } = known.prepared;
    const parts = partsOf(builders).filter(part => !this.#sentParts.has(part));
    for (const part of parts) this.#sentParts.add(part);
    return [...builders, ...parts.map(({ made }) => made)];
  }

  /** Those that go ahead, the first ones first. */
  sent(): (readonly ClassBuilder[])[] {
    const known = [...this.#classes.values()].flat().filter(({ isSent }) => isSent);
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
