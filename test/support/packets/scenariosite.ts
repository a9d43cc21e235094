/** The laboratory of a scenario: where unknown pods are denied, who has an address of theirs is there too. */
import { type Topology, topologyOf } from '../../../bench/lab/topology.ts';
import { type Address, cidrContains } from '../../../src/model/address.ts';
import type { Cluster } from '../../../src/model/cluster.ts';
import { podCidrsOf } from '../../../src/model/podcidrs.ts';
import type { Moment, Scenario } from '../scenarios/scenario.ts';

export function scenarioTopology({ unknownPods }: Scenario, { cluster, expectations }: Moment): Topology {
  const topology = topologyOf(
    cluster,
    expectations.flatMap(({ flow }) => [flow.from, flow.to]),
  );
  return unknownPods === 'deny' ? withStrangers(topology, cluster) : topology;
}

/** On the node whose pod network it is. */
function withStrangers(topology: Topology, { nodes }: Cluster): Topology {
  const nodeOf = (address: Address) =>
    [...nodes.values()].find(node => podCidrsOf(node).some(cidr => cidrContains(cidr, address)));
  const outsiders = topology.outside.flatMap(address => {
    const node = nodeOf(address)?.name;
    return node === undefined ? [] : [{ name: `stranger/${address}`, node, addresses: [address] }];
  });
  const isOutsider = new Set(outsiders.flatMap(({ addresses }) => addresses));
  return {
    ...topology,
    pods: [...topology.pods, ...outsiders],
    outside: topology.outside.filter(address => !isOutsider.has(address)),
  };
}
