/**
 * Warnings about a cluster as a whole, although each of its objects can be read. Each function is one warning, and its
 * code is in WARNING_CODES; docs/check.md shows a bad and a good example of each. No verdict depends on any of them.
 */
import type { Cidr } from '../../model/address.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { Inventory } from '../../model/inventory.ts';
import type { Problem } from '../../model/problem.ts';
import { closedEntrance, emptyService, missingService } from './entrances.ts';
import { type Facts, factsOf, type PolicyWarning } from './facts.ts';
import { dnsAnyone, noDns, publicName, serviceName } from './names.ts';
import { serviceAddress, tunnelAddress } from './networks.ts';
import { portName, servicePort } from './ports.ts';
import { coveredRule, equalPriority } from './rules.ts';
import { emptyPeer, emptySubject, hostNetwork, missingNamespace, noAddress } from './selectors.ts';

const OF_POLICIES: readonly PolicyWarning[] = [
  missingNamespace,
  emptySubject,
  hostNetwork,
  emptyPeer,
  coveredRule,
  portName,
  servicePort,
  serviceAddress,
  tunnelAddress,
  serviceName,
  publicName,
  dnsAnyone,
];

const OF_CLUSTERS: readonly ((facts: Facts) => readonly Problem[])[] = [
  equalPriority,
  noDns,
  missingService,
  emptyService,
  closedEntrance,
];

/** `serviceNetworks` are those from which Services get their addresses. */
export function lint(
  cluster: Cluster,
  inventory: Inventory,
  serviceNetworks: readonly Cidr[],
): readonly Problem[] {
  const facts = factsOf(cluster, inventory, serviceNetworks);
  return [
    ...noAddress(facts),
    ...facts.policies.flatMap(policy => OF_POLICIES.flatMap(find => find(policy, facts))),
    ...OF_CLUSTERS.flatMap(find => find(facts)),
  ];
}
