/** Where a port of a node leads that a pod there has for itself: policy sees the pod behind it (N61). */
import type { Address } from '../../model/address.ts';
import { addressesOfNode, isSelectable } from '../../model/cluster.ts';
import type { FlowProtocol } from '../../model/flow.ts';
import type { NamedEnd } from './endname.ts';
import type { Target, Targets, World } from './place.ts';
import { podPlace } from './places.ts';

/** Undefined where no pod of the node has the port. Throws FlowTextError where its address is another pod's by now. */
export function hostPortTargets(
  world: World,
  dialled: readonly Address[],
  { port }: NamedEnd,
  protocol: FlowProtocol,
): Targets | undefined {
  const node = nodeDialled(world, dialled);
  if (node === undefined) return undefined;
  const targets = [...world.cluster.pods.values()].flatMap((pod): Target[] => {
    if (pod.node !== node || !isSelectable(pod)) return [];
    const ports = world.inventory.hostPorts.get(pod.key) ?? [];
    const found = ports.find(
      each =>
        String(each.hostPort) === port &&
        each.protocol === protocol &&
        (each.hostIp === undefined || dialled.includes(each.hostIp)),
    );
    if (found === undefined) return [];
    return [{ place: podPlace(world, pod), protocol, port: found.port, isHostPort: true }];
  });
  if (targets.length === 0) return undefined;
  const pods = [...new Set(targets.map(({ place }) => place.name))].join(' and ');
  return {
    targets,
    notes: [`port ${port} of node ${node} is a host port of ${pods}: it is judged as that pod`],
  };
}

/** Who knows no Services and no host ports cannot say that nobody is behind the port. */
export function unknownPortNotes(world: World, dialled: readonly Address[], { port }: NamedEnd): string[] {
  if (port === undefined || world.knowsInventory || nodeDialled(world, dialled) === undefined) return [];
  return [
    `where a Service or a host port leads from port ${port} of that node to a pod, ask for that pod: the agent knows neither`,
  ];
}

function nodeDialled({ cluster }: World, dialled: readonly Address[]): string | undefined {
  const nodes = [...cluster.nodes.values()];
  return nodes.find(node => addressesOfNode(node).some(address => dialled.includes(address)))?.name;
}
