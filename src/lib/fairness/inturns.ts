/**
 * Names in turns: the first of each namespace, in order, then the second of each, and so on. Kept up name by name, so
 * that one that comes or goes among tens of thousands costs the turns that it moves, and not a look at all.
 */
import { getOrMake } from '../collections/getormake.ts';

export class InTurns<Name extends string> {
  readonly #most: number;
  readonly #namespaceOf: (name: Name) => string;
  /** Of each namespace, in order. */
  readonly #ofNamespaces = new Map<string, Name[]>();
  /** Of each turn, in order; turns beyond the first `most` are not kept. */
  readonly #turns: readonly Name[][];

  /** `most`: how many are asked for at most. */
  constructor(most: number, namespaceOf: (name: Name) => string) {
    this.#most = most;
    this.#namespaceOf = namespaceOf;
    this.#turns = Array.from({ length: most }, () => []);
  }

  /** The first of them. */
  get first(): readonly Name[] {
    const found: Name[] = [];
    for (const turn of this.#turns) {
      if (turn.length === 0 || found.length >= this.#most) break;
      found.push(...turn.slice(0, this.#most - found.length));
    }
    return found;
  }

  add(id: Name): void {
    const names = this.#namesOf(id);
    const at = placeOf(names, id);
    if (names[at] === id) return;
    const before = names.slice(at, this.#most);
    names.splice(at, 0, id);
    this.#move(at, before, names.slice(at, this.#most));
  }

  delete(id: Name): void {
    const names = this.#namesOf(id);
    const at = placeOf(names, id);
    if (names[at] !== id) return;
    const before = names.slice(at, this.#most);
    names.splice(at, 1);
    this.#move(at, before, names.slice(at, this.#most));
    if (names.length === 0) this.#ofNamespaces.delete(this.#namespaceOf(id));
  }

  #namesOf(id: Name): Name[] {
    return getOrMake(this.#ofNamespaces, this.#namespaceOf(id), () => []);
  }

  /** Of one namespace, from a turn on. */
  #move(from: number, before: readonly Name[], now: readonly Name[]): void {
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
function placeOf(ids: readonly string[], id: string): number {
  let [low, high] = [0, ids.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ids[middle]! < id) low = middle + 1;
    else high = middle;
  }
  return low;
}
