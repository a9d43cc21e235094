/**
 * The leases of one pod: found by name and address, and in the order in which they were told. There may be thousands
 * for each pod, mostly one for a name: whatever is kept beside each of them counts, so the order is a chain of theirs.
 */
import type { Address } from '../model/address.ts';
import type { NamesSet } from './subjects.ts';

/** One address under one name. */
export interface Lease {
  readonly name: string;
  readonly address: Address;
  /** Of the sets in which the address stands for the name. */
  readonly sets: readonly NamesSet[];
  untilMs: number;
  toldMs: number;
  /** Who answered, as the packet said; of one that was read back nobody knows. */
  from?: Address | undefined;
  /** When the kernel takes it out by itself. */
  kernelUntilMs: number;
  /** It lasts longer than the agent was told, and that is not urgent. */
  isUnsaid: boolean;
  /** Its place in the table, which alone sets it. */
  older: Lease | undefined;
  newer: Lease | undefined;
  /** Read back from the kernel: of which of the set's names it is, nobody knows any more. */
  readonly recovered?: true;
}

/** What an answer says of an address. */
export type Telling = Pick<Lease, 'untilMs' | 'toldMs' | 'from'>;

/** In no table yet, and in no set. */
export function newLease(
  name: string,
  address: Address,
  sets: readonly NamesSet[],
  { untilMs, toldMs, from }: Telling,
): Lease {
  // All at once, so that none of it lies outside of the object.
  return {
    name,
    address,
    sets,
    untilMs,
    toldMs,
    from,
    kernelUntilMs: 0,
    isUnsaid: false,
    older: undefined,
    newer: undefined,
  };
}

/** By address, in the order of the chain. */
type OfName = Map<Address, Lease>;

export class LeaseTable {
  readonly #names = new Map<string, Lease | OfName>();
  #oldest: Lease | undefined;
  #newest: Lease | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  find(name: string, address: Address): Lease | undefined {
    const found = this.#names.get(name);
    if (found instanceof Map) return found.get(address);
    return found?.address === address ? found : undefined;
  }

  countOf(name: string): number {
    const found = this.#names.get(name);
    return found === undefined ? 0 : found instanceof Map ? found.size : 1;
  }

  oldestOf(name: string): Lease | undefined {
    const found = this.#names.get(name);
    if (!(found instanceof Map)) return found;
    for (const lease of found.values()) return lease;
    return undefined;
  }

  /** Whoever changes the table meanwhile takes a copy first. */
  *oldestFirst(): Generator<Lease> {
    for (let at = this.#oldest; at !== undefined; at = at.newer) yield at;
  }

  /** None is there under this name and address. */
  add(lease: Lease): void {
    this.#append(lease);
    this.#size++;
    const others = this.#names.get(lease.name);
    if (others === undefined) this.#names.set(lease.name, lease);
    else if (others instanceof Map) others.set(lease.address, lease);
    else this.#names.set(lease.name, new Map([others, lease].map(each => [each.address, each])));
  }

  /** A lease of this table is the newest from now on. */
  renew(lease: Lease): void {
    if (lease !== this.#newest) {
      this.#unlink(lease);
      this.#append(lease);
    }
    const others = this.#names.get(lease.name);
    if (!(others instanceof Map)) return;
    others.delete(lease.address);
    others.set(lease.address, lease);
  }

  /** A lease of this table. */
  delete(lease: Lease): void {
    this.#unlink(lease);
    this.#size--;
    const others = this.#names.get(lease.name);
    if (others instanceof Map) others.delete(lease.address);
    if (!(others instanceof Map) || others.size === 0) this.#names.delete(lease.name);
  }

  #append(lease: Lease): void {
    lease.older = this.#newest;
    lease.newer = undefined;
    if (this.#newest === undefined) this.#oldest = lease;
    else this.#newest.newer = lease;
    this.#newest = lease;
  }

  #unlink({ older, newer }: Lease): void {
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
  }
}
