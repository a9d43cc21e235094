/**
 * The leases of a node: which pod got which addresses for which names, and until when. The functions return changes for
 * the kernel's sets, and have no effects themselves. Time is passed in, in milliseconds of any clock that never goes
 * back: V8 stores small whole numbers, as of a clock that starts with the thread, without an object for each.
 *
 *     recordAnswer(answer) ─▶ learn             the kernel's element is renewed as long as the lease ends later
 *     tick()               ─▶ learn, forget
 *     ending(), inUse(…)                        leases of addresses with open connections are prolonged
 */

import { getOrMake } from '../lib/collections/getormake.ts';
import { largestHolding } from '../lib/fairness/quota.ts';
import type { Address } from '../model/address.ts';
import type { PodKey } from '../model/cluster.ts';
import type { DnsRecord } from './dnscache.ts';
import {
  AllSetsByName,
  type Answer,
  type Lease,
  LIFETIMES,
  type Lifetimes,
  leaseDue,
  leaseEnd,
  NAMES_LIMITS,
  type NamesLimits,
  newLease,
  PodLeases,
  periodMs,
} from './leasetable.ts';
import type { DnsAnswer } from './message.ts';
import { StringPool } from './stringpool.ts';
import {
  elementOf,
  isSuccessor,
  type LeaseChange,
  type NamesPod,
  type NamesSet,
  type Subjects,
} from './subjects.ts';

/** An element that was found in the kernel when the agent started. */
export interface Recovered {
  readonly set: string;
  readonly pod: Address;
  readonly peer: Address;
  readonly leftMs: number;
}

/** A pod of the node, and an address that it got in an answer. */
export interface Pair {
  readonly pod: Address;
  readonly peer: Address;
}

/**
 * One answer makes a lease for each address and each of its names. With as many aliases as are read, these are the
 * first 120 addresses.
 */
const MOST_LEASES_PER_ANSWER = 2_048;

export class Leases {
  readonly #lifetimes: Lifetimes;
  readonly #limits: NamesLimits;
  readonly #zeroMs: number;
  readonly #pods = new Map<PodKey, PodLeases>();
  #byAddress = new Map<Address, PodLeases>();
  #size = 0;
  #evicted = 0;
  /** Leases that are new, or were prolonged shortly before their end, since the last `drainUpdates`. */
  readonly #updates = new Map<PodLeases, Lease[]>();
  readonly #senders = new StringPool<Address>();
  readonly #sets = new AllSetsByName();

  /** `zeroMs`: the zero of the clock, in milliseconds since 1970. */
  constructor(lifetimes: Lifetimes = LIFETIMES, limits: NamesLimits = NAMES_LIMITS, zeroMs = 0) {
    this.#lifetimes = lifetimes;
    this.#limits = limits;
    this.#zeroMs = zeroMs;
  }

  /** How many leases were deleted because there were too many. */
  get evicted(): number {
    return this.#evicted;
  }

  /**
   * Records that are new since the last call, except those that were prolonged long before their end. A caller that
   * calls this at least every `periodMs` never takes a lease for expired that is not.
   */
  drainUpdates(): DnsRecord[] {
    const records = [...this.#updates].flatMap(([pod, leases]) =>
      leases.map(lease => {
        lease.isUnreported = false;
        return recordOf(lease, pod, this.#zeroMs);
      }),
    );
    this.#updates.clear();
    return records;
  }

  drainAllUpdates(): DnsRecord[] {
    for (const pod of this.#pods.values())
      for (const lease of pod.leases()) if (lease.isUnreported) this.#markUpdated(pod, lease);
    return this.drainUpdates();
  }

  get size(): number {
    return this.#size;
  }

  pods(): Iterable<PodLeases> {
    return this.#pods.values();
  }

  /** The pod with this address; undefined for a pod without rules by name. */
  podAt(address: Address): PodKey | undefined {
    return this.#byAddress.get(address)?.pod.key;
  }

  /**
   * Replaces the pods and sets. A pod's leases stay for the names that its rules still have, and their addresses are
   * added to every set of these names, because a set that was created again is empty.
   */
  configure({ pods, sets }: Subjects, nowMs: number): LeaseChange[] {
    const byName = new Map(sets.map(set => [set.name, set]));
    const before = new Map(this.#pods);
    this.#pods.clear();
    this.#size = 0;
    const changes = pods.flatMap(pod => this.#takeOver(pod, byName, before, nowMs));
    const gone = [...before.values()].flatMap(leases => forgetAll(leases));
    this.#sets.retainOnly(new Set([...this.#pods.values()].map(each => each.sets)));
    this.#byAddress = new Map(
      [...this.#pods.values()].flatMap(each => each.pod.addresses.map(address => [address, each])),
    );
    // An element that stays is never deleted, not even for a moment.
    const stays = new Set(changes.filter(({ kind }) => kind === 'learn').map(elementOf));
    return [...gone.filter(change => byName.has(change.set) && !stays.has(elementOf(change))), ...changes];
  }

  /** Records an answer that the pod with this address got (C41, C42). */
  recordAnswer(
    podAddress: Address,
    { names, addresses }: DnsAnswer,
    nowMs: number,
    sender?: Address,
  ): LeaseChange[] {
    const pod = this.#byAddress.get(podAddress);
    if (pod === undefined) return [];
    const from = sender && this.#senders.of(sender);
    const meant = names
      .map(name => ({ name, sets: pod.sets.setsOf(name) }))
      .filter(({ sets }) => sets.length > 0);
    const most = Math.floor(MOST_LEASES_PER_ANSWER / Math.max(1, meant.length));
    return addresses.slice(0, most).flatMap(({ address, ttlSeconds }) => {
      const answer = { untilMs: leaseEnd(ttlSeconds, nowMs, this.#lifetimes), answeredMs: nowMs, from };
      return meant.flatMap(({ name, sets }) => {
        const known = pod.find(name, address);
        return known === undefined
          ? this.#put(pod, newLease(name, address, sets, answer), nowMs)
          : this.#renew(pod, known, answer, nowMs);
      });
    });
  }

  /**
   * Takes over elements that were in the kernel before the agent started: they end with their leases unless they are
   * answered again. Elements of an earlier pod with the same address are deleted, because addresses are given out
   * again, and so are those of no rule. `createdMs` is NaN if the time is not known. `agedMs`: how long ago the elements
   * were read. Without it an answer would seem younger than it is, and perhaps younger than a pod that later got the
   * address.
   */
  recover(
    found: readonly Recovered[],
    nowMs: number,
    createdMs: (pod: NamesPod) => number,
    agedMs = 0,
  ): LeaseChange[] {
    return found.flatMap(({ set: name, pod: address, peer, leftMs: leftThenMs }) => {
      const leftMs = leftThenMs - agedMs;
      if (leftMs <= 0) return []; // the kernel has removed it by now
      const pod = this.#byAddress.get(address);
      const set = pod?.sets.setNamed(name);
      const untilMs = nowMs + Math.min(leftMs, this.#lifetimes.leaseMs);
      if (pod === undefined || set === undefined || createdMs(pod.pod) > untilMs - this.#lifetimes.leaseMs)
        return [{ kind: 'forget', set: name, pod: address, peer }];
      const answer = { untilMs, answeredMs: nowMs, from: undefined };
      const lease = newLease(`@${name} ${peer}`, peer, [set], answer);
      if (pod.find(lease.name, peer) !== undefined) return [];
      const found = { ...lease, kernelUntilMs: untilMs, recovered: true } as const;
      pod.expect(found, this.#lifetimes);
      return this.#enter(pod, found);
    });
  }

  /**
   * Call about once a second: renews the kernel's elements of leases that go on, and deletes those of leases that end.
   */
  tick(nowMs: number): LeaseChange[] {
    return [...this.#pods.values()].flatMap(pod => (pod.dueMs > nowMs ? [] : this.#lookAt(pod, nowMs)));
  }

  /** The pairs that end before this time, each once, so that the caller can find those with open connections. */
  ending(untilMs: number): Pair[] {
    return [...this.#pods.values()].flatMap(pod => pod.ending(untilMs));
  }

  /** These pairs have open connections: they stay allowed for at least `floorMs` from now on (C41). */
  inUse(pairs: readonly Pair[], nowMs: number): void {
    const untilMs = nowMs + this.#lifetimes.floorMs;
    const used = new Map<PodLeases, Set<Address>>();
    for (const { pod: address, peer } of pairs) {
      const pod = this.#byAddress.get(address);
      if (pod !== undefined) getOrMake(used, pod, () => new Set()).add(peer);
    }
    for (const [pod, peers] of used)
      for (const lease of pod.prolong(peers, untilMs)) {
        this.#markUpdated(pod, lease);
        pod.expect(lease, this.#lifetimes);
      }
  }

  /** The changes that add the elements of all leases to empty sets. */
  learnAll(nowMs: number): LeaseChange[] {
    return [...this.#pods.values()].flatMap(pod =>
      [...pod.leases()].flatMap(lease => this.#learn(pod, lease, nowMs)),
    );
  }

  #markUpdated(pod: PodLeases, lease: Lease): void {
    getOrMake(this.#updates, pod, () => []).push(lease);
  }

  #lookAt(pod: PodLeases, nowMs: number): LeaseChange[] {
    pod.dueMs = Number.POSITIVE_INFINITY;
    return [...pod.leases()].flatMap(lease => {
      if (lease.untilMs <= nowMs) return this.#end(pod, lease);
      if (leaseDue(lease, this.#lifetimes) < nowMs) return this.#learn(pod, lease, nowMs);
      pod.expect(lease, this.#lifetimes);
      return [];
    });
  }

  /** Changes the lease in place, because most answers repeat what is known. */
  #renew(pod: PodLeases, lease: Lease, answer: Answer, nowMs: number): LeaseChange[] {
    if (lease.untilMs - nowMs < 2 * periodMs(this.#lifetimes)) this.#markUpdated(pod, lease);
    else lease.isUnreported = true;
    pod.renew(lease, answer);
    return this.#learn(pod, lease, nowMs);
  }

  #put(pod: PodLeases, lease: Lease, nowMs: number): LeaseChange[] {
    const evicted = this.#enter(pod, lease);
    return [...evicted, ...this.#learn(pod, lease, nowMs)];
  }

  #enter(pod: PodLeases, lease: Lease): LeaseChange[] {
    this.#markUpdated(pod, lease);
    const before = pod.size;
    const evicted = pod.put(lease, this.#limits);
    this.#size += pod.size - before;
    this.#evicted += before + 1 - pod.size;
    return [...evicted, ...this.#makeRoom()];
  }

  /** Beyond the node's limit the namespace with most leases loses one, and never a namespace with fewer (C57). */
  #makeRoom(): LeaseChange[] {
    if (this.#size <= this.#limits.perNode) return [];
    this.#size--;
    this.#evicted++;
    return largestHolding(this.#pods.values())!.evictOldest();
  }

  #end(pod: PodLeases, lease: Lease): LeaseChange[] {
    this.#size--;
    return pod.end(lease);
  }

  #learn(pod: PodLeases, lease: Lease, nowMs: number): LeaseChange[] {
    lease.kernelUntilMs = nowMs + this.#lifetimes.leaseMs;
    pod.expect(lease, this.#lifetimes);
    return pod.learn(lease);
  }

  #takeOver(
    pod: NamesPod,
    byName: ReadonlyMap<string, NamesSet>,
    before: Map<PodKey, PodLeases>,
    nowMs: number,
  ): LeaseChange[] {
    const known = before.get(pod.key);
    const sets = this.#sets.of(pod.sets.flatMap(name => byName.get(name) ?? []));
    const leases = new PodLeases(pod, sets);
    this.#pods.set(pod.key, leases);
    if (known === undefined || isSuccessor(pod, known.pod)) return [];
    if (known.isSame(pod, sets)) {
      before.delete(pod.key);
      this.#pods.set(pod.key, known);
      this.#size += known.size;
      return [];
    }
    return [...known.leases()].flatMap(lease => this.#carryOver(leases, lease, nowMs));
  }

  #carryOver(pod: PodLeases, lease: Lease, nowMs: number): LeaseChange[] {
    const sets = lease.recovered
      ? lease.sets.flatMap(({ name }) => pod.sets.setNamed(name) ?? [])
      : pod.sets.setsOf(lease.name);
    return sets.length === 0 ? [] : this.#put(pod, { ...lease, sets }, nowMs);
  }
}

/** Ends all leases of a pod that is gone, or whose addresses or rules have changed. */
function forgetAll(leases: PodLeases): LeaseChange[] {
  return [...leases.leases()].flatMap(lease => leases.end(lease));
}

/** The record of a lease. `zeroMs`: the zero of the lease's clock, in milliseconds since 1970. */
function recordOf(
  { name, address, answeredMs, untilMs, from, sets, recovered }: Lease,
  { pod }: PodLeases,
  zeroMs: number,
): DnsRecord {
  const times = { toldMs: zeroMs + answeredMs, untilMs: zeroMs + untilMs };
  const record = { pod: pod.key, address, name, ...times, ...(from && { from }) };
  // The list of the set itself, so that it is in memory and in messages once, however many addresses have it.
  return recovered ? { ...record, oneOf: sets[0]!.patterns } : record;
}
