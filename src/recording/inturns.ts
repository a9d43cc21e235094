/**
 * Policies in turns: the first of each namespace by name, then the second of each, and so on. Kept up name by name, so that
 * one that comes or goes among tens of thousands costs the turns that it moves, and not a look at all.
 */
import { getOrMake } from '../model/getormake.ts';
import { namespaceOfPolicy, type PolicyId } from '../model/policy.ts';

export class InTurns {
  readonly #most: number;
  /** Of each namespace, in order. */
  readonly #ofNamespaces = new Map<string, PolicyId[]>();
  /** Of each turn, in order; turns beyond the first `most` are nobody's. */
  readonly #turns: readonly PolicyId[][];

  /** `most`: how many are asked for at most. */
  constructor(most: number) {
    this.#most = most;
    this.#turns = Array.from({ length: most }, () => []);
  }

  /** The first of them. */
  get first(): readonly PolicyId[] {
    const found: PolicyId[] = [];
    for (const turn of this.#turns) {
      if (turn.length === 0 || found.length >= this.#most) break;
      found.push(...turn.slice(0, this.#most - found.length));
    }
    return found;
  }

  add(id: PolicyId): void {
    const names = this.#namesOf(id);
    const at = placeOf(names, id);
    if (names[at] === id) return;
    const before = names.slice(at, this.#most);
    names.splice(at, 0, id);
    this.#move(at, before, names.slice(at, this.#most));
  }

  delete(id: PolicyId): void {
    const names = this.#namesOf(id);
    const at = placeOf(names, id);
    if (names[at] !== id) return;
    const before = names.slice(at, this.#most);
    names.splice(at, 1);
    this.#move(at, before, names.slice(at, this.#most));
    if (names.length === 0) this.#ofNamespaces.delete(namespaceOfPolicy(id));
  }

  #namesOf(id: PolicyId): PolicyId[] {
    return getOrMake(this.#ofNamespaces, namespaceOfPolicy(id), () => []);
  }

  /** Of one namespace, from a turn on. */
  #move(from: number, before: readonly PolicyId[], now: readonly PolicyId[]): void {
    for (const [index, id] of before.entries()) {
      const turn = this.#turns[from + index]!;
      turn.splice(placeOf(turn, id), 1);
    }
    for (const [index, id] of now.entries()) {
      const turn = this.#turns[from + index]!;
      turn.splice(placeOf(turn, id), 0, id);
    }
  }
}

/** Where it is, or would be. */
function placeOf(ids: readonly PolicyId[], id: PolicyId): number {
  let [low, high] = [0, ids.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ids[middle]! < id) low = middle + 1;
    else high = middle;
  }
  return low;
}
