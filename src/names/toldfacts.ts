/** What pods were told, as the agent's own thread knows it: for verdicts, for open connections, for people. */
import type { Address } from '../model/address.ts';
import type { PodKey, Told } from '../model/cluster.ts';
import { matchesDomainName } from '../model/domainname.ts';
import { namespaceOfPod, richest } from './tenants.ts';

/** A pod was told an address under a name. */
export interface ToldFact {
  readonly pod: PodKey;
  readonly address: Address;
  readonly name: string;
  /** Milliseconds since 1970; by the latest answer. */
  readonly toldMs: number;
  readonly untilMs: number;
  /** Who answered; of an element that stood before the agent did nobody knows. */
  readonly from?: Address;
  /** Of an element that stood before the agent did: nobody knows its name, but one of these patterns means it. */
  readonly oneOf?: readonly string[];
}

/** What was told, as of a time: milliseconds since 1970. */
export interface ToldAsOf {
  readonly facts: ToldFacts;
  readonly nowMs: number;
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
  readonly namespace: string;
  readonly addresses = new Map<Address, Map<string, ToldFact>>();
  size = 0;

  constructor(pod: PodKey) {
    this.namespace = namespaceOfPod(pod);
  }

  put(fact: ToldFact, { perPod, perAddress }: ToldLimits): void {
    const names = this.addresses.get(fact.address) ?? new Map<string, ToldFact>();
    this.size -= names.size;
    putLast(names, fact.name, fact);
    if (names.size > perAddress) names.delete(names.keys().next().value!);
    this.size += names.size;
    putLast(this.addresses, fact.address, names);
    while (this.size > perPod) this.dropOldest();
  }

  dropOldest(): void {
    for (const [address, names] of this.addresses) {
      names.delete(names.keys().next().value!);
      this.size--;
      if (names.size === 0) this.addresses.delete(address);
      return;
    }
  }
}

export class ToldFacts {
  readonly #limits: ToldLimits;
  readonly #pods = new Map<PodKey, PodFacts>();
  #size = 0;

  constructor(limits: ToldLimits = LIMITS) {
    this.#limits = limits;
  }

  note(facts: readonly ToldFact[]): void {
    for (const fact of facts) {
      const known = this.#pods.get(fact.pod) ?? new PodFacts(fact.pod);
      this.#pods.set(fact.pod, known);
      this.#size -= known.size;
      known.put(fact, this.#limits);
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
    for (const names of this.#pods.get(pod)?.addresses.values() ?? []) yield* names.values();
  }

  *all(): Generator<ToldFact> {
    for (const pod of this.#pods.keys()) yield* this.of(pod);
  }

  /** Of those that had not ended at this time. */
  asOf(nowMs: number): Told {
    return { has: (pod, address, pattern) => this.#has(pod, address, pattern, nowMs) };
  }

  /** Whether the pod was ever told the address under a name that one of the patterns means. */
  everHad(pod: PodKey, address: Address, patterns: readonly string[]): boolean {
    return patterns.some(pattern => this.#has(pod, address, pattern, Number.NEGATIVE_INFINITY));
  }

  #has(pod: PodKey, address: Address, pattern: string, nowMs: number): boolean {
    for (const fact of this.#pods.get(pod)?.addresses.get(address)?.values() ?? [])
      if (fact.untilMs > nowMs && means(pattern, fact)) return true;
    return false;
  }

  #makeRoom(): void {
    richest(this.#pods.values())!.dropOldest();
    this.#size--;
  }
}

function putLast<K, V>(map: Map<K, V>, key: K, value: V): void {
  map.delete(key);
  map.set(key, value);
}

function means(pattern: string, { name, oneOf }: ToldFact): boolean {
  return oneOf?.includes(pattern) ?? matchesDomainName(pattern, name);
}
