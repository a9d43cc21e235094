/**
 * The addresses that one pod was told: each under the names that lead to it, with its end. What several names lead to
 * stands in a set until the last of them ends.
 */
import { type Address, familyOf } from '../model/address.ts';
import { namespaceOfPod } from '../model/cluster.ts';
import { type Lease, LeaseTable, type Telling } from './leasetable.ts';
import { type Lifetimes, leaseDue, type NamesLimits } from './limits.ts';
import type { SetsByName } from './setsbyname.ts';
import type { LeaseChange, NamesPod, NamesSet } from './subjects.ts';

export class PodLeases {
  readonly pod: NamesPod;
  readonly namespace: string;
  /** That its rules look up. */
  readonly sets: SetsByName;
  /** Nothing has to be done before then for any of its leases that were expected. */
  dueMs = Number.POSITIVE_INFINITY;
  readonly #leases = new LeaseTable();
  /** How many leases hold an address in a set. */
  readonly #holds = new Map<NamesSet, Map<Address, number>>();

  constructor(pod: NamesPod, sets: SetsByName) {
    this.pod = pod;
    this.namespace = namespaceOfPod(pod.key);
    this.sets = sets;
  }

  get size(): number {
    return this.#leases.size;
  }

  find(name: string, address: Address): Lease | undefined {
    return this.#leases.find(name, address);
  }

  /** Whether these are the pod and the sets that it was made for. */
  isSame(pod: NamesPod, sets: SetsByName): boolean {
    return sets === this.sets && pod.addresses.join() === this.pod.addresses.join();
  }

  leases(): Iterable<Lease> {
    return this.#leases.oldestFirst();
  }

  expect(lease: Lease, lifetimes: Lifetimes): void {
    this.dueMs = Math.min(this.dueMs, leaseDue(lease, lifetimes));
  }

  /** One of its own was told again: the later end counts. */
  renew(lease: Lease, { untilMs, toldMs, from }: Telling): void {
    lease.untilMs = Math.max(lease.untilMs, untilMs);
    lease.toldMs = toldMs;
    lease.from = from;
    this.#leases.renew(lease);
  }

  /** One that it does not have. Answers what went for it: the limits of a name and of a pod take who was told longest ago. */
  put(lease: Lease, { perName, perPod }: NamesLimits): LeaseChange[] {
    this.#leases.add(lease);
    for (const set of lease.sets) this.#hold(set, lease.address, 1);
    if (this.#leases.countOf(lease.name) > perName) return this.end(this.#leases.oldestOf(lease.name)!);
    return this.#leases.size > perPod ? this.evictOldest() : [];
  }

  evictOldest(): LeaseChange[] {
    for (const lease of this.#leases.oldestFirst()) return this.end(lease);
    return [];
  }

  /** Takes a lease away; answers the elements that nobody holds any more. */
  end(lease: Lease): LeaseChange[] {
    this.#drop(lease);
    const gone = lease.sets.filter(set => !this.#holds.get(set)?.has(lease.address));
    return gone.flatMap(set => this.elements('forget', set, lease.address));
  }

  /** Addresses that no lease keeps beyond this time, as pairs. */
  ending(untilMs: number): { pod: Address; peer: Address }[] {
    const peers = new Set<Address>();
    for (const lease of this.leases()) if (lease.untilMs <= untilMs) peers.add(lease.address);
    for (const lease of this.leases()) if (lease.untilMs > untilMs) peers.delete(lease.address);
    return [...peers].flatMap(peer => this.#addressesFor(peer).map(pod => ({ pod, peer })));
  }

  /** Answers the leases of these addresses that ended sooner. */
  prolong(peers: ReadonlySet<Address>, untilMs: number): Lease[] {
    const sooner = [...this.leases()].filter(lease => peers.has(lease.address) && lease.untilMs < untilMs);
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

  #drop(lease: Lease): void {
    this.#leases.delete(lease);
    for (const set of lease.sets) this.#hold(set, lease.address, -1);
  }

  #hold(set: NamesSet, address: Address, more: 1 | -1): void {
    const held = this.#holds.get(set) ?? this.#beginToHold(set);
    const count = (held.get(address) ?? 0) + more;
    if (count === 0) held.delete(address);
    else held.set(address, count);
  }

  #beginToHold(set: NamesSet): Map<Address, number> {
    const held = new Map<Address, number>();
    this.#holds.set(set, held);
    return held;
  }
}
