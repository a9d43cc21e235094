/** Classes that pods will be in soon: made, put nowhere, and found made when pods join them. */
import { type PodClass, samePolicies } from '../classes.ts';
import type { ClassBuilder, Part } from '../parts.ts';

interface PreparedClass {
  readonly podClass: PodClass;
  readonly isBundled: boolean;
  readonly builders: readonly ClassBuilder[];
}

export class PreparedClasses {
  readonly #classes = new Map<string, { readonly prepared: PreparedClass; uses: number }>();
  /** How many of them have each part. */
  readonly #parts = new Map<Part, number>();

  /** What was made of the class with these very policies. */
  madeOf(name: string, podClass: PodClass, isBundled: boolean): readonly ClassBuilder[] | undefined {
    const prepared = this.#of(name, podClass);
    return prepared?.isBundled === isBundled ? prepared.builders : undefined;
  }

  /** How it was made; nothing where it was not. */
  isBundled(name: string, podClass: PodClass): boolean | undefined {
    return this.#of(name, podClass)?.isBundled;
  }

  #of(name: string, podClass: PodClass): PreparedClass | undefined {
    const prepared = this.#classes.get(name)?.prepared;
    return prepared !== undefined && samePolicies(prepared.podClass, podClass) ? prepared : undefined;
  }

  /**
   * From now on, in place of what the class was, until it is forgotten as often as it was added. Answers what nobody finds any
   * more.
   */
  add(name: string, prepared: PreparedClass): readonly ClassBuilder[] {
    const before = this.#classes.get(name);
    if (before?.prepared.builders === prepared.builders) {
      before.uses++;
      return [];
    }
    // Whoever had it otherwise forgets it, too: in bundles, or not in them.
    const isSame = before !== undefined && samePolicies(before.prepared.podClass, prepared.podClass);
    this.#classes.set(name, { prepared, uses: 1 + (isSame ? before.uses : 0) });
    for (const part of partsOf(prepared.builders)) this.#parts.set(part, (this.#parts.get(part) ?? 0) + 1);
    return before === undefined ? [] : this.#drop(before.prepared);
  }

  /** Answers what nobody finds any more. */
  forget(name: string, podClass: PodClass): readonly ClassBuilder[] {
    const known = this.#classes.get(name);
    if (known === undefined || !samePolicies(known.prepared.podClass, podClass) || --known.uses > 0)
      return [];
    this.#classes.delete(name);
    return this.#drop(known.prepared);
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
