/**
 * Names in turns: the first of each namespace, in order, then the second of each, and so on. Updated name by name: a
 * name that comes or goes among tens of thousands costs the turns that it moves, and not a look at all names.
 */
import { getOrMake } from '../collections/getormake.ts';

export class InTurns<Name extends string> {
  readonly #most: number;
  readonly #namespaceOf: (name: Name) => string;
  /** Names by namespace, sorted. */
  readonly #ofNamespaces = new Map<string, Name[]>();
  /** The names of each turn, sorted; turns beyond the first `most` names are not kept. */
  readonly #turns: readonly Name[][];

  /** `most`: how many names `first` returns at most. */
  constructor(most: number, namespaceOf: (name: Name) => string) {
    this.#most = most;
    this.#namespaceOf = namespaceOf;
    this.#turns = Array.from({ length: most }, () => []);
  }

  /** The first `most` names. */
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

  /** Replaces the names of a namespace in the turns from `from` on. */
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

/** The index of the id, or the index at which it would be inserted. */
function placeOf(ids: readonly string[], id: string): number {
  let [low, high] = [0, ids.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ids[middle]! < id) low = middle + 1;
    else high = middle;
  }
  return low;
}
