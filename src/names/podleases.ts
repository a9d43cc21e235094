/**
 * The addresses that one pod was told: each under the names that lead to it, with its end. What several names lead to
 * stands in a set until the last of them ends.
 */
import { type Address, familyOf } from '../model/address.ts';
import { DomainNameIndex } from '../model/domainname.ts';
import type { NamesLimits } from './limits.ts';
import type { LeaseChange, NamesPod, NamesSet } from './subjects.ts';
import { namespaceOfPod } from './tenants.ts';

/** One address under one name. */
export interface Lease {
  readonly name: string;
  readonly address: Address;
  /** Of the sets in which the address stands for the name. */
  readonly sets: readonly NamesSet[];
  untilMs: number;
  toldMs: number;
  /** Who answered, as the packet said; of one that was read back nobody knows. */
  readonly from?: Address | undefined;
  /** When the kernel takes it out by itself. */
  kernelUntilMs: number;
  /** Read back from the kernel: of which of the set's names it is, nobody knows any more. */
  readonly recovered?: true;
}

export class PodLeases {
  readonly pod: NamesPod;
  readonly namespace: string;
  readonly #sets = new DomainNameIndex<NamesSet>();
  readonly #named: ReadonlyMap<string, NamesSet>;
  /** By name and address; who was told longest ago comes first. */
  readonly #leases = new Map<string, Lease>();
  /** Of each name its addresses, in the same order. */
  readonly #names = new Map<string, Set<string>>();
  /** How many leases hold an address in a set. */
  readonly #holds = new Map<string, number>();

  constructor(pod: NamesPod, sets: readonly NamesSet[]) {
    this.pod = pod;
    this.namespace = namespaceOfPod(pod.key);
    this.#named = new Map(sets.map(set => [set.name, set]));
    for (const set of sets) for (const pattern of set.patterns) this.#sets.add(pattern, set);
  }

  get size(): number {
    return this.#leases.size;
  }

  has(lease: Lease): boolean {
    return this.#leases.has(keyOf(lease));
  }

  setNamed(name: string): NamesSet | undefined {
    return this.#named.get(name);
  }

  /** Whether these are the pod and the sets that it was made for. */
  isSame(pod: NamesPod, sets: readonly NamesSet[]): boolean {
    const own = [...this.#named.values()];
    const isOwn = sets.length === own.length && sets.every(set => this.#named.has(set.name));
    return isOwn && pod.addresses.join() === this.pod.addresses.join();
  }

  leases(): Iterable<Lease> {
    return this.#leases.values();
  }

  /** The sets that mean a name, each once. */
  setsOf(name: string): readonly NamesSet[] {
    return [...new Set(this.#sets.valuesOf(name))];
  }

  /** The later end counts. Answers what went for it: the limits of a name and of a pod take who was told longest ago. */
  put(lease: Lease, { perName, perPod }: NamesLimits): LeaseChange[] {
    const key = keyOf(lease);
    const before = this.#leases.get(key);
    if (before !== undefined) lease.untilMs = Math.max(lease.untilMs, before.untilMs);
    if (before !== undefined) this.#drop(key, before);
    this.#leases.set(key, lease);
    const ofName = this.#names.get(lease.name) ?? new Set();
    this.#names.set(lease.name, ofName.add(key));
    for (const hold of holdsOf(lease)) this.#holds.set(hold, (this.#holds.get(hold) ?? 0) + 1);
    const tooMany = ofName.size > perName ? ofName : this.#leases.size > perPod ? this.#leases.keys() : [];
    for (const oldest of tooMany) return this.end(this.#leases.get(oldest)!);
    return [];
  }

  evictOldest(): LeaseChange[] {
    for (const lease of this.#leases.values()) return this.end(lease);
    return [];
  }

  /** Takes a lease away; answers the elements that nobody holds any more. */
  end(lease: Lease): LeaseChange[] {
    this.#drop(keyOf(lease), lease);
    const gone = lease.sets.filter(set => !this.#holds.has(holdOf(set, lease)));
    return gone.flatMap(set => this.elements('forget', set, lease.address));
  }

  /** Addresses that no lease keeps beyond this time, as pairs. */
  ending(untilMs: number): { pod: Address; peer: Address }[] {
    const peers = new Set<Address>();
    for (const lease of this.#leases.values()) if (lease.untilMs <= untilMs) peers.add(lease.address);
    for (const lease of this.#leases.values()) if (lease.untilMs > untilMs) peers.delete(lease.address);
    return [...peers].flatMap(peer => this.#addressesFor(peer).map(pod => ({ pod, peer })));
  }

  /** Answers the leases of these addresses that ended sooner. */
  prolong(peers: ReadonlySet<Address>, untilMs: number): Lease[] {
    const sooner = [...this.#leases.values()].filter(
      lease => peers.has(lease.address) && lease.untilMs < untilMs,
    );
    for (const lease of sooner) lease.untilMs = untilMs;
    return sooner;
  }

  /** The elements of an address in the sets of its lease. */
  learn(lease: Lease): LeaseChange[] {
    return lease.sets.flatMap(set => this.elements('learn', set, lease.address));
  }

  /** One for each address that the pod has in the family, whatever family the question came by (C55). */
  elements(kind: LeaseChange['kind'], set: NamesSet, peer: Address): LeaseChange[] {
    return this.#addressesFor(peer).map(pod => ({ kind, set: set.name, pod, peer }));
  }

  #addressesFor(peer: Address): Address[] {
    return this.pod.addresses.filter(address => familyOf(address) === familyOf(peer));
  }

  #drop(key: string, lease: Lease): void {
    this.#leases.delete(key);
    const ofName = this.#names.get(lease.name);
    ofName?.delete(key);
    if (ofName?.size === 0) this.#names.delete(lease.name);
    for (const hold of holdsOf(lease)) {
      const others = this.#holds.get(hold)! - 1;
      if (others === 0) this.#holds.delete(hold);
      else this.#holds.set(hold, others);
    }
  }
}

function keyOf({ name, address }: Pick<Lease, 'name' | 'address'>): string {
  return `${name} ${address}`;
}

function holdsOf(lease: Lease): string[] {
  return lease.sets.map(set => holdOf(set, lease));
}

function holdOf(set: NamesSet, { address }: Pick<Lease, 'address'>): string {
  return `${set.name} ${address}`;
}
