/**
 * The leases of one pod, by name and address, and in the order of their answers. A pod may have thousands, mostly one
 * for each name. To save memory, the order is a linked list through the leases themselves.
 */

import { getOrMake } from '../lib/collections/getormake.ts';
import { type Address, familyOf } from '../model/address.ts';
import { namespaceOfPod } from '../model/cluster.ts';
import { DomainNameIndex } from '../model/domainname.ts';
import type { LeaseChange, NamesPod, NamesSet } from './subjects.ts';

/** One address of one name. */
export interface Lease {
  readonly name: string;
  readonly address: Address;
  /** The sets that contain the address because of this name. */
  readonly sets: readonly NamesSet[];
  untilMs: number;
  answeredMs: number;
  /** The resolver that answered, by the packet's source; unknown for a lease that was read back from the kernel. */
  from?: Address | undefined;
  /** When the kernel deletes the element by itself. */
  kernelUntilMs: number;
  /** Whether it was prolonged and the main thread does not know yet. That is not urgent. */
  isUnreported: boolean;
  /** Its neighbours in the table's order. Only the table sets them. */
  older: Lease | undefined;
  newer: Lease | undefined;
  /** Set if the lease was read back from the kernel, which does not say which of the set's names it is for. */
  readonly recovered?: true;
}

/** The properties of a lease that an answer sets. */
export type Answer = Pick<Lease, 'untilMs' | 'answeredMs' | 'from'>;

/** A lease that is in no table and in no set yet. */
export function newLease(
  name: string,
  address: Address,
  sets: readonly NamesSet[],
  { untilMs, answeredMs, from }: Answer,
): Lease {
  // All properties in one literal, so that V8 stores them inside the object.
  return {
    name,
    address,
    sets,
    untilMs,
    answeredMs,
    from,
    kernelUntilMs: 0,
    isUnreported: false,
    older: undefined,
    newer: undefined,
  };
}

/** Leases by address, in the order of the linked list. */
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

  /** Copy the result first if the table may change during the iteration. */
  *oldestFirst(): Generator<Lease> {
    for (let at = this.#oldest; at !== undefined; at = at.newer) yield at;
  }

  /** The table must not have a lease of this name and address. */
  add(lease: Lease): void {
    this.#append(lease);
    this.#size++;
    const others = this.#names.get(lease.name);
    if (others === undefined) this.#names.set(lease.name, lease);
    else if (others instanceof Map) others.set(lease.address, lease);
    else this.#names.set(lease.name, new Map([others, lease].map(each => [each.address, each])));
  }

  /** Makes a lease of this table the newest. */
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

  /** Deletes a lease of this table. */
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

/**
 * The addresses that one pod got: each for the names that lead to it, with its end. An address of several names is in a
 * set until the last lease ends.
 */
export class PodLeases {
  readonly pod: NamesPod;
  readonly namespace: string;
  /** The sets that the pod's rules look up. */
  readonly sets: SetsByName;
  /** No expected work for any of its leases is due before this time. */
  dueMs = Number.POSITIVE_INFINITY;
  readonly #leases = new LeaseTable();
  /** How many leases keep an address in a set. */
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

  /** Whether the leases were made for the same pod and the same sets. */
  isSame(pod: NamesPod, sets: SetsByName): boolean {
    return sets === this.sets && pod.addresses.join() === this.pod.addresses.join();
  }

  leases(): Iterable<Lease> {
    return this.#leases.oldestFirst();
  }

  expect(lease: Lease, lifetimes: Lifetimes): void {
    this.dueMs = Math.min(this.dueMs, leaseDue(lease, lifetimes));
  }

  /** A lease of this pod was answered again: the later end counts. */
  renew(lease: Lease, { untilMs, answeredMs, from }: Answer): void {
    lease.untilMs = Math.max(lease.untilMs, untilMs);
    lease.answeredMs = answeredMs;
    lease.from = from;
    this.#leases.renew(lease);
  }

  /** Adds a lease. Beyond the limits of a name or pod the oldest leases end; returns the changes for those. */
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

  /** Removes a lease. Returns changes for the elements that no other lease keeps. */
  end(lease: Lease): LeaseChange[] {
    this.#drop(lease);
    const gone = lease.sets.filter(set => !this.#holds.get(set)?.has(lease.address));
    return gone.flatMap(set => this.elements('forget', set, lease.address));
  }

  /** The pairs of the addresses that no lease keeps beyond this time. */
  ending(untilMs: number): { pod: Address; peer: Address }[] {
    const peers = new Set<Address>();
    for (const lease of this.leases()) if (lease.untilMs <= untilMs) peers.add(lease.address);
    for (const lease of this.leases()) if (lease.untilMs > untilMs) peers.delete(lease.address);
    return [...peers].flatMap(peer => this.#addressesFor(peer).map(pod => ({ pod, peer })));
  }

  /** Prolongs the leases of these addresses. Returns those that would have ended earlier. */
  prolong(peers: ReadonlySet<Address>, untilMs: number): Lease[] {
    const sooner = [...this.leases()].filter(lease => peers.has(lease.address) && lease.untilMs < untilMs);
    for (const lease of sooner) lease.untilMs = untilMs;
    return sooner;
  }

  /** The changes that add the address of a lease to its sets. */
  learn(lease: Lease): LeaseChange[] {
    return lease.sets.flatMap(set => this.elements('learn', set, lease.address));
  }

  /** One element for each address that the pod has in the family, whatever family the query was sent by (C55). */
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

/** How long an address is allowed after an answer, and how many are kept. Times are in milliseconds. */

export interface Lifetimes {
  /** How long beyond the TTL: clients use an answer a little longer than it allows. */
  readonly graceMs: number;
  /** The least time: runtimes cache an answer regardless of its TTL, and resolvers return the rest of a TTL. */
  readonly floorMs: number;
  readonly capMs: number;
  /** The timeout of the kernel's element, during which it stays if no agent runs. */
  readonly leaseMs: number;
}

export const LIFETIMES: Lifetimes = {
  graceMs: 10_000,
  floorMs: 120_000,
  capMs: 24 * 3_600_000,
  leaseMs: 600_000,
};

/** How often a node looks for leases that are about to end. An address lasts at least four times as long. */
export function periodMs({ floorMs }: Lifetimes): number {
  return floorMs / 4;
}

export interface NamesLimits {
  /** Addresses of one name for one pod. */
  readonly perName: number;
  /** Leases of one pod, under all names. */
  readonly perPod: number;
  readonly perNode: number;
}

export const NAMES_LIMITS: NamesLimits = { perName: 1_000, perPod: 4_096, perNode: 32_768 };

/** When the lease of an address ends that comes in an answer now (C41). */
export function leaseEnd(ttlSeconds: number, nowMs: number, { graceMs, floorMs, capMs }: Lifetimes): number {
  return nowMs + Math.min(Math.max(ttlSeconds * 1_000 + graceMs, floorMs), capMs);
}

/** When a lease needs work: it ends, or half of its time in the kernel is over and the element is renewed. */
export function leaseDue(
  { untilMs, kernelUntilMs }: { readonly untilMs: number; readonly kernelUntilMs: number },
  { leaseMs }: Lifetimes,
): number {
  return untilMs > kernelUntilMs ? Math.min(untilMs, kernelUntilMs - leaseMs / 2) : untilMs;
}

/**
 * The sets that a pod's rules look up, by name. All pods with the same sets share one of these: a policy may have
 * thousands of names, and a node hundreds of pods.
 */
const MOST_LISTS = 64;

class SetsByName {
  readonly #sets = new DomainNameIndex<NamesSet>();
  readonly #named: ReadonlyMap<string, NamesSet>;
  readonly #lists = new Map<string, readonly NamesSet[]>();

  constructor(sets: readonly NamesSet[]) {
    this.#named = new Map(sets.map(set => [set.name, set]));
    for (const set of sets) for (const pattern of set.patterns) this.#sets.add(pattern, set);
  }

  setNamed(name: string): NamesSet | undefined {
    return this.#named.get(name);
  }

  /** The sets with a pattern that matches the name, each once; always the same list for the same sets. */
  setsOf(name: string): readonly NamesSet[] {
    const values = this.#sets.valuesOf(name);
    if (values.length < 2) return values;
    const found = [...new Set(values)];
    const key = keyOf(found);
    const known = this.#lists.get(key) ?? found;
    if (this.#lists.size < MOST_LISTS) this.#lists.set(key, known);
    return known;
  }
}

/** The `SetsByName` of a node's pods. Sets are compared by name, because equal sets have equal names. */
export class AllSetsByName {
  readonly #made = new Map<string, SetsByName>();

  of(sets: readonly NamesSet[]): SetsByName {
    const key = keyOf(sets);
    return getOrMake(this.#made, key, () => new SetsByName(sets));
  }

  retainOnly(used: ReadonlySet<SetsByName>): void {
    for (const [key, made] of this.#made) if (!used.has(made)) this.#made.delete(key);
  }
}

function keyOf(sets: readonly NamesSet[]): string {
  return sets.map(({ name }) => name).join();
}
