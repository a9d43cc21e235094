/**
 * Variant of the rules for judging open connections: the set of a name has every address that a DNS answer ever gave
 * the pod, expired or not, because a connection may outlive its lease (C41). Until the answers are known, the set has
 * all addresses.
 */

import type { Address } from '../../model/address.ts';
import type { PodKey } from '../../model/cluster.ts';
import type { DnsCache } from '../../names/dnscache.ts';
import type { Subjects } from '../../names/subjects.ts';
import {
  type ElementKey,
  type Elements,
  type ElementValue,
  MEMBER,
  mapTables,
  type NftSet,
  type Ruleset,
  type Table,
} from '../../nft/ruleset.ts';

/** What judging open connections needs from the reader of DNS answers. */
export interface NamesKnown {
  readonly subjects: Subjects;
  /** Absent until the answers from before the start of the agent are known. */
  readonly cache: DnsCache | undefined;
  /** Settles when there is a cache. Starting may fail and be tried again without end. */
  known(): Promise<void>;
  /** Resolves when all answers from before this call are known. */
  synced(): Promise<void>;
}

/** The DNS answers, as far as they are known. */
export type NamesInUse = Pick<NamesKnown, 'subjects' | 'cache'>;

export function withKnownNames(ruleset: Ruleset, known: NamesInUse | undefined): Ruleset {
  if (known === undefined || known.subjects.sets.length === 0) return ruleset;
  const filled = new Map(
    known.subjects.sets.map(({ name, patterns }) => [name, elementsOf(known, patterns)]),
  );
  return mapTables(ruleset, table => withElements(table, filled));
}

function withElements({ sets, chains }: Table, filled: ReadonlyMap<string, Elements>): Table {
  const changed = [...filled].flatMap(([name, elements]): [string, NftSet][] => {
    const set = sets.get(name);
    return set === undefined ? [] : [[name, { ...set, elements }]];
  });
  return { chains, sets: new Map([...sets, ...changed]) };
}

function elementsOf({ subjects, cache }: NamesInUse, patterns: readonly string[]): Elements {
  if (cache === undefined) return new PairsBy(() => true);
  const owners = new Map(
    subjects.pods.flatMap(({ key, addresses }) => addresses.map(each => [each, key] as const)),
  );
  return new PairsBy((pod, peer) => {
    const owner: PodKey | undefined = owners.get(pod);
    return owner !== undefined && cache.everHad(owner, peer, patterns);
  });
}

/** Elements that are looked up and never listed. */
class PairsBy extends Map<ElementKey, ElementValue> {
  readonly #has: (pod: Address, peer: Address) => boolean;

  constructor(has: (pod: Address, peer: Address) => boolean) {
    super();
    this.#has = has;
  }

  override get(key: ElementKey): ElementValue | undefined {
    const [pod, peer] = key.split(' . ') as [Address, Address];
    return this.#has(pod, peer) ? MEMBER : undefined;
  }
}
