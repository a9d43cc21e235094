/** What a destination leads to: itself with its port, or where a Service sends who dials it. */
import { type Address, addressToInt, cidrContains, familyOf } from '../../model/address.ts';
import { addressesOfNode, isSelectable } from '../../model/cluster.ts';
import type { FlowProtocol } from '../../model/flow.ts';
import { podCidrsOf } from '../../model/podcidrs.ts';
import type { Protocol } from '../../model/policy.ts';
import { FlowTextError, parseProtocol } from '../../semantics/flowtext.ts';
import { type NamedEnd, type ServiceName, shortServiceName } from './endname.ts';
import { namedPort, type Place, podOf, type Target, type Targets, type World } from './place.ts';
import { placesOf, podPlace } from './places.ts';
import { contains, PRIVATE } from './ranges.ts';
import {
  atEndpoint,
  followService,
  fromOutside,
  nodePortTargets,
  serviceAt,
  serviceNamed,
} from './services.ts';

/** Throws FlowTextError where there is nobody of that name, or the port is none. */
export function targetsOf(world: World, end: NamedEnd): Targets {
  const { name } = end;
  const protocol = protocolOf(end);
  if (name.kind === 'service') return byServiceName(world, name, end, protocol);
  if (name.kind === 'address' && world.isBehindServices)
    return { targets: placesOf(world, name).map(place => targetAt(place, end, protocol)), notes: [] };
  const short = shortNameOf(world, end);
  if (short !== undefined) return byServiceName(world, short, end, protocol);
  const dialled = addressesDialled(world, end);
  const service = dialled.map(address => serviceAt(world, address)).find(found => found !== undefined);
  if (service !== undefined) {
    const found = followService(world, service, end, protocol);
    return dialled.some(at => service.externalIps.includes(at)) ? fromOutside(world, service, found) : found;
  }
  const byNode = nodePortTargets(world, dialled, end, protocol);
  if (byNode !== undefined) return byNode;
  const byHostPort = hostPortTargets(world, dialled, end, protocol);
  if (byHostPort !== undefined) return byHostPort;
  const targets = placesOf(world, name).map(place => targetAt(place, end, protocol));
  const undecided = maybeService(world, end, targets);
  const notes = unknownPortNotes(world, dialled, end);
  return { targets, notes, ...(undecided !== undefined && { undecided }) };
}

function byServiceName(world: World, name: ServiceName, end: NamedEnd, protocol: FlowProtocol): Targets {
  const service = serviceNamed(world, name);
  if (name.endpoint === undefined) return followService(world, service, end, protocol);
  // DNS answers with the address of the pod itself, whatever the Service is.
  const found = followService(world, { ...service, headless: true }, end, protocol);
  return atEndpoint({ ...found, notes: [] }, service, name.endpoint, end.text);
}

/** Names of Services that leave out svc.cluster.local, where there is such a Service. */
export function shortNameOf({ inventory }: World, { name }: NamedEnd): ServiceName | undefined {
  const short = name.kind === 'domain' ? shortServiceName(name.name) : undefined;
  return short && inventory.services.has(`${short.namespace}/${short.name}`) ? short : undefined;
}

/** TCP where there is a port, else ICMP. */
function protocolOf({ text, port, protocol, name }: NamedEnd): FlowProtocol {
  if (protocol !== undefined) return parseProtocol(text, protocol);
  return port === undefined && name.kind !== 'service' ? 'ICMP' : 'TCP';
}

/** Addresses that a Service or a node port may be behind. */
function addressesDialled({ cluster }: World, { name }: NamedEnd): readonly Address[] {
  if (name.kind === 'address') return [name.address];
  if (name.kind !== 'node') return [];
  const node = cluster.nodes.get(name.name);
  return node === undefined ? [] : addressesOfNode(node);
}

function targetAt(place: Place, end: NamedEnd, protocol: FlowProtocol): Target {
  if (protocol !== 'TCP' && protocol !== 'UDP' && protocol !== 'SCTP') {
    if (end.port !== undefined)
      throw new FlowTextError(`"${end.text}": protocol ${end.protocol ?? protocol} has no ports`);
    return { place, protocol };
  }
  return { place, protocol, port: portAt(place, end, protocol) };
}

function portAt(place: Place, { text, port }: NamedEnd, protocol: Protocol): number {
  if (port === undefined) throw new FlowTextError(`"${text}": ${protocol} needs a port`);
  const number = /^\d+$/.test(port) ? Number(port) : (namedPort(podOf(place), port, protocol) ?? 0);
  if (number >= 1 && number <= 65535) return number;
  const who = /[a-z]/i.test(port) ? `, nor the name of one of ${place.name}` : '';
  throw new FlowTextError(`"${text}": "${port}" is not a port from 1 to 65535${who}`);
}

/** Policy sees the pod behind a Service (N61): of an address that may be a Service's, nobody can say what it does. */
function maybeService(
  world: World,
  { name, port }: NamedEnd,
  targets: readonly Target[],
): string | undefined {
  if (name.kind !== 'address' || port === undefined) return undefined;
  const { address } = name;
  const pod = targets.some(({ place }) => podOf(place) !== undefined);
  if (pod || isKnown(world, address) || !contains(PRIVATE, familyOf(address), addressToInt(address)))
    return undefined;
  return `${address} may be the address of a Service, and no Service that is known has it: give its Service, or ask for a pod behind it`;
}

/** Whether it is clear that no Service has the address. */
function isKnown({ cluster, knowsInventory, inventory }: World, address: Address): boolean {
  const nodes = [...cluster.nodes.values()];
  if (nodes.some(node => addressesOfNode(node).includes(address))) return true;
  if (nodes.flatMap(podCidrsOf).some(cidr => cidrContains(cidr, address))) return true;
  return knowsInventory && inventory.services.has(API_SERVER);
}

/** Every cluster has it: who read it has read all Services. */
const API_SERVER = 'default/kubernetes';

// Where a port of a node leads that a pod there has for itself: policy sees the pod behind it (N61).

/** Undefined where no pod of the node has the port. Throws FlowTextError where its address is another pod's by now. */
function hostPortTargets(
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
function unknownPortNotes(world: World, dialled: readonly Address[], { port }: NamedEnd): string[] {
  if (port === undefined || world.knowsInventory || nodeDialled(world, dialled) === undefined) return [];
  return [
    `where a Service or a host port leads from port ${port} of that node to a pod, ask for that pod: the agent knows neither`,
  ];
}

function nodeDialled({ cluster }: World, dialled: readonly Address[]): string | undefined {
  const nodes = [...cluster.nodes.values()];
  return nodes.find(node => addressesOfNode(node).some(address => dialled.includes(address)))?.name;
}
