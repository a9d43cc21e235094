/** The DNS answers that pods got, as the main thread keeps them: for verdicts, open connections and people. */

import { getOrMake } from '../lib/collections/getormake.ts';
import { largestHolding } from '../lib/fairness/quota.ts';
import type { Address } from '../model/address.ts';
import { namespaceOfPod, type PodKey, type ResolvedNames } from '../model/cluster.ts';
import { DomainNameIndex, matchesDomainName } from '../model/domainname.ts';
import { StringPool } from './stringpool.ts';

/** A pod got an address in a DNS answer for a name. */
export interface DnsRecord {
  readonly pod: PodKey;
  readonly address: Address;
  readonly name: string;
  /** When the latest answer came, in milliseconds since 1970. A state dump has this field under the same name. */
  readonly toldMs: number;
  readonly untilMs: number;
  /** The resolver that answered; absent for an element that was in the kernel before the agent started. */
  readonly from?: Address;
  /**
   * For an element that was in the kernel before the agent started: the name is one that one of these patterns matches.
   */
  readonly oneOf?: readonly string[];
}

/** The contents of the cache at a time in milliseconds since 1970. */
export interface DnsSnapshot {
  readonly cache: DnsCache;
  readonly nowMs: number;
  /** The node whose pods the cache covers; absent if that is not known. */
  readonly node?: string;
  /** The same of several nodes, whose agents were asked. */
  readonly nodes?: readonly string[];
}

/**
 * Expired records are kept for connections that are still open. Beyond a limit the oldest record of a pod, or of one
 * address, is deleted; beyond the node's limit, the oldest of the pod with most records in the namespace with most.
 */
export interface DnsCacheLimits {
  readonly perPod: number;
  readonly perAddress: number;
  readonly perNode: number;
}

const LIMITS: DnsCacheLimits = { perPod: 8_192, perAddress: 64, perNode: 65_536 };

/** The records of one pod, sorted from the oldest. */
class PodRecords {
  readonly pod: PodKey;
  readonly namespace: string;
  /** Nearly every address has one name only; then no list is made for it. */
  readonly #addresses = new Map<Address, DnsRecord | readonly DnsRecord[]>();
  size = 0;

  constructor(pod: PodKey) {
    this.pod = pod;
    this.namespace = namespaceOfPod(pod);
  }

  of(address: Address): readonly DnsRecord[] {
    return listOf(this.#addresses.get(address));
  }

  *all(): Generator<DnsRecord> {
    for (const records of this.#addresses.values()) yield* listOf(records);
  }

  put(record: DnsRecord, { perPod, perAddress }: DnsCacheLimits): void {
    const before = this.of(record.address);
    const others = before.filter(({ name }) => name !== record.name);
    const records = [...others, record].slice(-perAddress);
    this.size += records.length - before.length;
    this.#addresses.delete(record.address);
    this.#addresses.set(record.address, records.length === 1 ? records[0]! : records);
    while (this.size > perPod) this.dropOldest();
  }

  dropOldest(): void {
    for (const [address, records] of this.#addresses) {
      this.size--;
      const rest = listOf(records).slice(1);
      if (rest.length === 0) this.#addresses.delete(address);
      else this.#addresses.set(address, rest);
      return;
    }
  }
}

function listOf(records: DnsRecord | readonly DnsRecord[] | undefined): readonly DnsRecord[] {
  if (records === undefined) return [];
  return 'name' in records ? [records] : records;
}

export class DnsCache {
  readonly #limits: DnsCacheLimits;
  readonly #pods = new Map<PodKey, PodRecords>();
  readonly #senders = new StringPool<Address>();
  #size = 0;

  constructor(limits: DnsCacheLimits = LIMITS) {
    this.#limits = limits;
  }

  record(records: readonly DnsRecord[]): void {
    for (const record of records) {
      const known = getOrMake(this.#pods, record.pod, () => new PodRecords(record.pod));
      this.#size -= known.size;
      known.put(this.#kept(record, known.pod), this.#limits);
      this.#size += known.size;
      if (this.#size > this.#limits.perNode) this.#makeRoom();
    }
  }

  retainOnly(pods: ReadonlySet<PodKey>): void {
    for (const [pod, { size }] of this.#pods)
      if (!pods.has(pod)) {
        this.#pods.delete(pod);
        this.#size -= size;
      }
  }

  *of(pod: PodKey): Generator<DnsRecord> {
    yield* this.#pods.get(pod)?.all() ?? [];
  }

  *all(): Generator<DnsRecord> {
    for (const pod of this.#pods.keys()) yield* this.of(pod);
  }

  /** The names of addresses in records that had not expired at this time. */
  asOf(nowMs: number): ResolvedNames {
    return {
      has: (pod, address, pattern) => this.#has(pod, address, pattern, nowMs),
      namesOf: (pod, address) => this.#namesOf(pod, address, nowMs),
    };
  }

  /** Whether the pod ever got the address for a name that one of the patterns matches. */
  everHad(pod: PodKey, address: Address, patterns: readonly string[]): boolean {
    const records = this.#pods.get(pod)?.of(address) ?? [];
    return records.some(({ name, oneOf }) =>
      oneOf === undefined ? haveName(patterns, name) : havePatternOf(patterns, oneOf),
    );
  }

  #has(pod: PodKey, address: Address, pattern: string, nowMs: number): boolean {
    for (const record of this.#pods.get(pod)?.of(address) ?? [])
      if (record.untilMs > nowMs && means(pattern, record)) return true;
    return false;
  }

  /**
   * A record that another thread sent has copies of its strings, and a larger object than it needs: both are replaced.
   */
  #kept({ address, name, toldMs, untilMs, from, oneOf }: DnsRecord, pod: PodKey): DnsRecord {
    if (oneOf !== undefined) return { pod, address, name, toldMs, untilMs, oneOf };
    if (from === undefined) return { pod, address, name, toldMs, untilMs };
    return { pod, address, name, toldMs, untilMs, from: this.#senders.of(from) };
  }

  #namesOf(pod: PodKey, address: Address, nowMs: number): readonly string[] {
    const records = this.#pods.get(pod)?.of(address) ?? [];
    return namesIn(records.filter(({ untilMs }) => untilMs > nowMs));
  }

  #makeRoom(): void {
    largestHolding(this.#pods.values())!.dropOldest();
    this.#size--;
  }
}

/** The names in the records of one pod and address. */
export function namesIn(records: readonly DnsRecord[]): readonly string[] {
  const names = new Set(records.flatMap(({ name, oneOf }) => oneOf ?? [name]));
  return [...names].sort().slice(0, MOST_NAMES);
}

const MOST_NAMES = 20;

function means(pattern: string, { name, oneOf }: DnsRecord): boolean {
  return oneOf === undefined ? matchesDomainName(pattern, name) : hasPattern(oneOf, pattern);
}

/** Lists of patterns as Sets: a list may have thousands, and is looked up for every open connection. */
const SETS = new WeakMap<readonly string[], ReadonlySet<string>>();
const INDEXES = new WeakMap<readonly string[], DomainNameIndex<true>>();
const SHARED = new WeakMap<readonly string[], WeakMap<readonly string[], boolean>>();

/** Whether the list has this pattern. */
function hasPattern(patterns: readonly string[], pattern: string): boolean {
  return setOf(patterns).has(pattern);
}

/** Whether one of the patterns matches the name. */
function haveName(patterns: readonly string[], name: string): boolean {
  return indexOf(patterns).valuesOf(name).length > 0;
}

/** Whether the lists have a pattern in common. */
function havePatternOf(patterns: readonly string[], others: readonly string[]): boolean {
  const known = getOrMake(SHARED, patterns, () => new WeakMap<readonly string[], boolean>());
  return getOrMake(known, others, () => others.some(other => hasPattern(patterns, other)));
}

function setOf(patterns: readonly string[]): ReadonlySet<string> {
  return getOrMake(SETS, patterns, () => new Set(patterns));
}

function indexOf(patterns: readonly string[]): DomainNameIndex<true> {
  return getOrMake(INDEXES, patterns, () => {
    const index = new DomainNameIndex<true>();
    for (const pattern of patterns) index.add(pattern, true);
    return index;
  });
}
