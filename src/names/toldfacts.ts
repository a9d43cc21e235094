/** What pods were told, as the agent's own thread knows it: for verdicts, for open connections, for people. */

import { getOrMake } from '../lib/collections/getormake.ts';
import { largestHolding } from '../lib/fairness/quota.ts';
import type { Address } from '../model/address.ts';
import { namespaceOfPod, type PodKey, type ToldNames } from '../model/cluster.ts';
import { DomainNameIndex, matchesDomainName } from '../model/domainname.ts';
import { KnownTexts } from './knowntexts.ts';

/** A pod was told an address under a name. */
export interface ToldFact {
  readonly pod: PodKey;
  readonly address: Address;
  readonly name: string;
  /** Milliseconds since 1970; by the latest answer. */
  readonly toldMs: number;
  readonly untilMs: number;
  /** Who answered; of an element that is older than the agent nobody knows. */
  readonly from?: Address;
  /** Of an element that is older than the agent: nobody knows its name, but one of these patterns means it. */
  readonly oneOf?: readonly string[];
}

/** What was told, as of a time: milliseconds since 1970. */
export interface ToldAsOf {
  readonly facts: ToldFacts;
  readonly nowMs: number;
  /** Whose pods alone these are about; absent where nobody says it. */
  readonly node?: string;
}

/**
 * What has ended is remembered for the connections that are still open: of a pod, and of one of its addresses, the
 * latest; of the node, those of namespaces and pods that were told least.
 */
export interface ToldLimits {
  readonly perPod: number;
  readonly perAddress: number;
  readonly perNode: number;
}

const LIMITS: ToldLimits = { perPod: 8_192, perAddress: 64, perNode: 65_536 };

/** Of one pod. What was noted longest ago comes first. */
class PodFacts {
  readonly pod: PodKey;
  readonly namespace: string;
  /** Of nearly every address there is one name, and then there is no list of them. */
  readonly #addresses = new Map<Address, ToldFact | readonly ToldFact[]>();
  size = 0;

  constructor(pod: PodKey) {
    this.pod = pod;
    this.namespace = namespaceOfPod(pod);
  }

  of(address: Address): readonly ToldFact[] {
    return listOf(this.#addresses.get(address));
  }

  *all(): Generator<ToldFact> {
    for (const facts of this.#addresses.values()) yield* listOf(facts);
  }

  put(fact: ToldFact, { perPod, perAddress }: ToldLimits): void {
    const before = this.of(fact.address);
    const others = before.filter(({ name }) => name !== fact.name);
    const facts = [...others, fact].slice(-perAddress);
    this.size += facts.length - before.length;
    this.#addresses.delete(fact.address);
    this.#addresses.set(fact.address, facts.length === 1 ? facts[0]! : facts);
    while (this.size > perPod) this.dropOldest();
  }

  dropOldest(): void {
    for (const [address, facts] of this.#addresses) {
      this.size--;
      const rest = listOf(facts).slice(1);
      if (rest.length === 0) this.#addresses.delete(address);
      else this.#addresses.set(address, rest);
      return;
    }
  }
}

function listOf(facts: ToldFact | readonly ToldFact[] | undefined): readonly ToldFact[] {
  if (facts === undefined) return [];
  return 'name' in facts ? [facts] : facts;
}

export class ToldFacts {
  readonly #limits: ToldLimits;
  readonly #pods = new Map<PodKey, PodFacts>();
  readonly #senders = new KnownTexts<Address>();
  #size = 0;

  constructor(limits: ToldLimits = LIMITS) {
    this.#limits = limits;
  }

  note(facts: readonly ToldFact[]): void {
    for (const fact of facts) {
      const known = getOrMake(this.#pods, fact.pod, () => new PodFacts(fact.pod));
      this.#size -= known.size;
      known.put(this.#kept(fact, known.pod), this.#limits);
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

  *of(pod: PodKey): Generator<ToldFact> {
    yield* this.#pods.get(pod)?.all() ?? [];
  }

  *all(): Generator<ToldFact> {
    for (const pod of this.#pods.keys()) yield* this.of(pod);
  }

  /** Of those that had not ended at this time. */
  asOf(nowMs: number): ToldNames {
    return {
      has: (pod, address, pattern) => this.#has(pod, address, pattern, nowMs),
      namesOf: (pod, address) => this.#namesOf(pod, address, nowMs),
    };
  }

  /** Whether the pod was ever told the address under a name that one of the patterns means. */
  everHad(pod: PodKey, address: Address, patterns: readonly string[]): boolean {
    const facts = this.#pods.get(pod)?.of(address) ?? [];
    return facts.some(({ name, oneOf }) =>
      oneOf === undefined ? haveName(patterns, name) : havePatternOf(patterns, oneOf),
    );
  }

  #has(pod: PodKey, address: Address, pattern: string, nowMs: number): boolean {
    for (const fact of this.#pods.get(pod)?.of(address) ?? [])
      if (fact.untilMs > nowMs && means(pattern, fact)) return true;
    return false;
  }

  /** From another thread each comes with texts of its own for one pod and one resolver, and larger than it need be. */
  #kept({ address, name, toldMs, untilMs, from, oneOf }: ToldFact, pod: PodKey): ToldFact {
    if (oneOf !== undefined) return { pod, address, name, toldMs, untilMs, oneOf };
    if (from === undefined) return { pod, address, name, toldMs, untilMs };
    return { pod, address, name, toldMs, untilMs, from: this.#senders.of(from) };
  }

  #namesOf(pod: PodKey, address: Address, nowMs: number): readonly string[] {
    const facts = this.#pods.get(pod)?.of(address) ?? [];
    return namesIn(facts.filter(({ untilMs }) => untilMs > nowMs));
  }

  #makeRoom(): void {
    largestHolding(this.#pods.values())!.dropOldest();
    this.#size--;
  }
}

/** Of one pod and address. */
export function namesIn(facts: readonly ToldFact[]): readonly string[] {
  const names = new Set(facts.flatMap(({ name, oneOf }) => oneOf ?? [name]));
  return [...names].sort().slice(0, MOST_NAMES);
}

const MOST_NAMES = 20;

function means(pattern: string, { name, oneOf }: ToldFact): boolean {
  return oneOf === undefined ? matchesDomainName(pattern, name) : hasPattern(oneOf, pattern);
}

/**
 * Lists of patterns that may have thousands, each looked through once: who asks of every open connection whether its
 * address has a name of the list asks often.
 */
const SETS = new WeakMap<readonly string[], ReadonlySet<string>>();
const INDEXES = new WeakMap<readonly string[], DomainNameIndex<true>>();
const SHARED = new WeakMap<readonly string[], WeakMap<readonly string[], boolean>>();

/** Whether one of the patterns is this one. */
function hasPattern(patterns: readonly string[], pattern: string): boolean {
  return setOf(patterns).has(pattern);
}

/** Whether one of them means the name. */
function haveName(patterns: readonly string[], name: string): boolean {
  return indexOf(patterns).valuesOf(name).length > 0;
}

/** Whether one of them is in both lists. */
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
