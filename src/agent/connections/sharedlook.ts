/**
 * Counts the connections of a look by the addresses that it is about, so that none of them makes the look a long one:
 * once it has seen more than it is to see, whoever has more than an equal part of that is left for another look.
 */
import type { Address } from '../../model/address.ts';
import type { Flow } from '../../model/flow.ts';

export class SharedLook {
  readonly #most: number;
  readonly #counts: Map<Address, number>;
  readonly #crowded = new Set<Address>();
  #seen = 0;

  /** Of at most `most` connections; twice as many, where they are everybody's. */
  constructor(about: Iterable<Address>, most: number) {
    this.#most = most;
    this.#counts = new Map([...about].map(address => [address, 0]));
  }

  /** Who has so many that they are left out. */
  get left(): ReadonlySet<Address> {
    return this.#crowded;
  }

  /** Whether one more connection is looked at. */
  admits({ from, to }: Flow): boolean {
    const isFull = ++this.#seen > this.#most;
    this.#count(from, isFull);
    if (to !== from) this.#count(to, isFull);
    return !(isFull && (this.#crowded.has(from) || this.#crowded.has(to)));
  }

  /** How many of its connections were looked at, or left. */
  countOf(address: Address): number {
    return this.#counts.get(address) ?? 0;
  }

  #count(address: Address, isFull: boolean): void {
    const before = this.#counts.get(address);
    if (before === undefined) return;
    this.#counts.set(address, before + 1);
    if (isFull && before >= this.#most / this.#counts.size) this.#crowded.add(address);
  }
}
