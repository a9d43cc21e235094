/** What pods were told, as the agent's own thread knows it: for verdicts, for open connections, for people. */
import type { Address } from '../model/address.ts';
import type { PodKey, Told } from '../model/cluster.ts';
import { matchesDomainName } from '../model/domainname.ts';

/** A pod was told an address under a name. */
export interface ToldFact {
  readonly pod: PodKey;
  readonly address: Address;
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly untilMs: number;
  /** Of an element that stood before the agent did: nobody knows its name, but one of these patterns means it. */
  readonly oneOf?: readonly string[];
}

/** Of one pod, the latest: what has ended is remembered for the connections that are still open. */
const MOST_ADDRESSES = 8_192;
/** Of one address of a pod, the latest. */
const MOST_NAMES = 64;

type Names = Map<string, ToldFact>;

export class ToldFacts {
  readonly #pods = new Map<PodKey, Map<Address, Names>>();

  note(facts: readonly ToldFact[]): void {
    for (const fact of facts) {
      const addresses = this.#pods.get(fact.pod) ?? new Map<Address, Names>();
      this.#pods.set(fact.pod, addresses);
      const names = addresses.get(fact.address) ?? new Map<string, ToldFact>();
      putLast(addresses, fact.address, names, MOST_ADDRESSES);
      putLast(names, fact.name, fact, MOST_NAMES);
    }
  }

  retainOnly(pods: ReadonlySet<PodKey>): void {
    for (const pod of this.#pods.keys()) if (!pods.has(pod)) this.#pods.delete(pod);
  }

  *of(pod: PodKey): Generator<ToldFact> {
    for (const names of this.#pods.get(pod)?.values() ?? []) yield* names.values();
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
    for (const fact of this.#pods.get(pod)?.get(address)?.values() ?? [])
      if (fact.untilMs > nowMs && means(pattern, fact)) return true;
    return false;
  }
}

/** Who came longest ago goes. */
function putLast<K, V>(map: Map<K, V>, key: K, value: V, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > most) map.delete(map.keys().next().value!);
}

function means(pattern: string, { name, oneOf }: ToldFact): boolean {
  return oneOf?.includes(pattern) ?? matchesDomainName(pattern, name);
}
