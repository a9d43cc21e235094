/** The DNS answers of pods, in the form that the reference reads, and as elements of the kernel's sets. */

import { Incremental } from '../../../src/compiler/live/incremental.ts';
import type { DnsQueue } from '../../../src/compiler/namespeers.ts';
import { type Address, FAMILIES, type Family, familyOf } from '../../../src/model/address.ts';
import type { Cluster, PodKey, Resolved } from '../../../src/model/cluster.ts';
import { clusterEvents } from '../../../src/model/clusterevents.ts';
import { matchesDomainName } from '../../../src/model/domainname.ts';
import type { UnknownPods } from '../../../src/model/podcidrs.ts';
import { Leases } from '../../../src/names/leases.ts';
import type { LeaseChange } from '../../../src/names/subjects.ts';
import { type Elements, MEMBER, type NftSet, type Ruleset, type Table } from '../../../src/nft/ruleset.ts';

export const DNS_QUEUE: DnsQueue = {
  queue: 'nft',
  resolvers: ['10.96.0.10' as Address, 'fd00::a' as Address],
};

export interface Resolution {
  readonly pod: PodKey;
  readonly name: string;
  readonly address: Address;
}

export class ResolvedTable implements Resolved {
  readonly entries: readonly Resolution[];

  constructor(entries: readonly Resolution[]) {
    this.entries = entries;
  }

  has(pod: PodKey, address: Address, pattern: string): boolean {
    return this.entries.some(
      entry => entry.pod === pod && entry.address === address && matchesDomainName(pattern, entry.name),
    );
  }
}

/** The ruleset with the elements that the node's agent would have added. */
export function withResolvedElements(
  ruleset: Ruleset,
  cluster: Cluster,
  node: string,
  unknownPods: UnknownPods,
): Ruleset {
  const { resolved } = cluster;
  if (!(resolved instanceof ResolvedTable) || resolved.entries.length === 0) return ruleset;
  const engine = new Incremental(node, unknownPods, 'others', DNS_QUEUE);
  for (const event of clusterEvents(cluster)) engine.apply(event);
  engine.flush();
  const leases = new Leases();
  leases.configure(engine.namesSubjects, 0);
  const changes = engine.namesSubjects.pods.flatMap(pod =>
    resolved.entries
      .filter(entry => entry.pod === pod.key && pod.addresses.length > 0)
      .flatMap(({ name, address }) =>
        leases.recordAnswer(
          pod.addresses[0]!,
          { names: [name], addresses: [{ address, ttlSeconds: 60 }] },
          0,
        ),
      ),
  );
  return { tables: new Map(FAMILIES.map(family => [family, filled(ruleset, family, changes)])) };
}

function filled(ruleset: Ruleset, family: Family, changes: readonly LeaseChange[]): Table {
  const table = ruleset.tables.get(family)!;
  const sets = new Map<string, NftSet>(table.sets);
  for (const { set: name, pod, peer } of changes.filter(change => familyOf(change.pod) === family)) {
    const set = sets.get(name)!;
    sets.set(name, {
      ...set,
      elements: new Map([...set.elements, [`${pod} . ${peer}`, MEMBER]]) as Elements,
    });
  }
  return { ...table, sets };
}
