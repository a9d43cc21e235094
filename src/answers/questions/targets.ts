/** Where a destination leads: to itself with its port, or to the endpoints of a Service. */
import {
  type Address,
  addressToInt,
  cidrContains,
  FAMILIES,
  type Family,
  familyOf,
} from '../../model/address.ts';
import { addressesOfNode, isSelectable } from '../../model/cluster.ts';
import type { FlowProtocol } from '../../model/flow.ts';
import { podCidrsOf } from '../../model/podcidrs.ts';
import type { Protocol } from '../../model/policy.ts';
import { FlowTextError, parseProtocol } from '../../semantics/flowtext.ts';
import { API_SERVER, apiServerEndpoints } from './apiserver.ts';
import { type NamedEndpoint, type ServiceName, shortServiceName } from './endpoint.ts';
import {
  type ClusterView,
  namedPort,
  podOf,
  type ResolvedEndpoint,
  type Target,
  type Targets,
  type Translation,
} from './place.ts';
import { isServiceAlone, placesOf, podEndpoints } from './places.ts';
import { contains, PRIVATE } from './ranges.ts';
import {
  asPodBehind,
  atEndpoint,
  followService,
  nodePortTargets,
  serviceNamed,
  serviceTargets,
} from './services.ts';

/** Throws FlowTextError if nothing has that name, or the port is not one. */
export function targetsOf(view: ClusterView, end: NamedEndpoint): Targets {
  const { name } = end;
  const protocol = protocolOf(end);
  if (name.kind === 'service') return byServiceName(view, name, end, protocol);
  if (name.kind === 'address' && view.isBehindServices)
    return { targets: placesOf(view, name).map(endpoint => targetAt(endpoint, end, protocol)), notes: [] };
  const short = shortNameOf(view, end);
  if (short !== undefined) return byServiceName(view, short, end, protocol);
  const dialled = addressesDialled(view, end);
  const plain = () => placesOf(view, name).map(endpoint => targetAt(endpoint, end, protocol));
  // A node may have the address of a Service over one family alone.
  const found = FAMILIES.flatMap(family => {
    const addresses = dialled.filter(address => familyOf(address) === family);
    return addresses.length === 0 ? [] : [{ family, led: translatedAt(view, addresses, end, protocol) }];
  });
  if (found.some(({ led }) => led !== undefined))
    return joined(found.map(({ led, family }) => onlyOver(family, led ?? { targets: plain(), notes: [] })));
  const targets = plain();
  const undecided = maybeService(view, end, targets) ?? maybeNodePort(view, dialled, end);
  const notes = [...unknownPortNotes(view, dialled, end), ...namesakeNotes(view, end, targets)];
  return {
    targets,
    notes: undecided === undefined ? notes : [],
    ...(undecided !== undefined && { undecided }),
  };
}

/** What a connection to one of these addresses is led to; undefined where it is for the address itself. */
function translatedAt(
  view: ClusterView,
  addresses: readonly Address[],
  end: NamedEndpoint,
  protocol: FlowProtocol,
): Targets | undefined {
  const node = nodeDialled(view, addresses);
  const found = serviceTargets(view, addresses, node, end, protocol);
  if (found !== undefined || node === undefined) return found;
  return (
    nodePortTargets(view, addresses, node, end, protocol) ??
    hostPortTargets(view, addresses, node, end, protocol)
  );
}

function onlyOver(family: Family, { targets, ...rest }: Targets): Targets {
  return { ...rest, targets: targets.map(target => ({ ...target, family })) };
}

function joined(found: readonly Targets[]): Targets {
  const undecided = found.find(({ targets }) => targets.length === 0)?.undecided;
  return {
    targets: found.flatMap(({ targets }) => targets),
    notes: [...new Set(found.flatMap(({ notes }) => notes))],
    ...(undecided !== undefined && { undecided }),
  };
}

function byServiceName(
  view: ClusterView,
  name: ServiceName,
  end: NamedEndpoint,
  protocol: FlowProtocol,
): Targets {
  const service = serviceNamed(view, name);
  if (name.endpoint === undefined) return followService(view, service, end, protocol);
  // DNS answers with the address of the pod itself, for any type of Service.
  const found = followService(view, { ...service, headless: true }, end, protocol);
  return atEndpoint({ ...found, notes: [] }, service, name.endpoint, end.text);
}

/** Names of Services that leave out svc.cluster.local or svc/, where there is such a Service. */
export function shortNameOf(view: ClusterView, { name }: NamedEndpoint): ServiceName | undefined {
  const { inventory, defaultNamespace } = view;
  if (name.kind === 'pod') {
    const { namespace = defaultNamespace } = name;
    return isServiceAlone(view, `${namespace}/${name.name}`)
      ? { kind: 'service', namespace, name: name.name }
      : undefined;
  }
  const short = name.kind === 'domain' ? shortServiceName(name.name) : undefined;
  if (short === undefined) return undefined;
  const key = `${short.namespace}/${short.name}` as const;
  return inventory.services.has(key) || (key === API_SERVER && !short.endpoint) ? short : undefined;
}

/** TCP where there is a port, else ICMP. */
function protocolOf({ text, port, protocol, name }: NamedEndpoint): FlowProtocol {
  if (protocol !== undefined) return parseProtocol(text, protocol);
  return port === undefined && name.kind !== 'service' ? 'ICMP' : 'TCP';
}

/** Addresses that may be those of a Service or of a node. */
function addressesDialled({ cluster }: ClusterView, { name }: NamedEndpoint): readonly Address[] {
  if (name.kind === 'address') return [name.address];
  if (name.kind !== 'node') return [];
  const node = cluster.nodes.get(name.name);
  return node === undefined ? [] : addressesOfNode(node);
}

function targetAt(endpoint: ResolvedEndpoint, end: NamedEndpoint, protocol: FlowProtocol): Target {
  if (protocol !== 'TCP' && protocol !== 'UDP' && protocol !== 'SCTP') {
    if (end.port !== undefined)
      throw new FlowTextError(`"${end.text}": protocol ${end.protocol ?? protocol} has no ports`);
    return { endpoint, protocol };
  }
  return { endpoint, protocol, port: portAt(endpoint, end, protocol) };
}

function portAt(endpoint: ResolvedEndpoint, { text, port }: NamedEndpoint, protocol: Protocol): number {
  if (port === undefined) throw new FlowTextError(`"${text}": ${protocol} needs a port`);
  const number = /^\d+$/.test(port) ? Number(port) : (namedPort(podOf(endpoint), port, protocol) ?? 0);
  if (number >= 1 && number <= 65535) return number;
  const who = /[a-z]/i.test(port) ? `, nor the name of one of ${endpoint.name}` : '';
  throw new FlowTextError(`"${text}": "${port}" is not a port from 1 to 65535${who}`);
}

/** Policy judges the pod behind a Service (N61), so a connection to an address that may be a Service's is undecided. */
function maybeService(
  view: ClusterView,
  { name, port }: NamedEndpoint,
  targets: readonly Target[],
): string | undefined {
  if (name.kind !== 'address' || port === undefined) return undefined;
  const { address } = name;
  const pod = targets.some(({ endpoint }) => podOf(endpoint) !== undefined);
  if (pod || isKnown(view, address) || !contains(PRIVATE, familyOf(address), addressToInt(address)))
    return undefined;
  return `${address} may be the address of a Service, and no Service that is known has it: give its Service, or ask for a pod behind it`;
}

/** Whether it is clear that no Service has the address. */
function isKnown({ cluster, knowsInventory, inventory }: ClusterView, address: Address): boolean {
  const nodes = [...cluster.nodes.values()];
  if (nodes.some(node => addressesOfNode(node).includes(address))) return true;
  if (nodes.flatMap(podCidrsOf).some(cidr => cidrContains(cidr, address))) return true;
  if (apiServerEndpoints(inventory).has(address)) return true;
  // Every cluster has this Service: if it was read, all Services were.
  return knowsInventory && inventory.services.has(API_SERVER);
}

// The pod behind a host port: policy judges that pod (N61).

/** Undefined where no pod of the node has the port. Throws FlowTextError where its address is another pod's by now. */
function hostPortTargets(
  view: ClusterView,
  dialled: readonly Address[],
  node: string,
  { port }: NamedEndpoint,
  protocol: FlowProtocol,
): Targets | undefined {
  const targets = [...view.cluster.pods.values()].flatMap((pod): Target[] => {
    if (pod.node !== node || !isSelectable(pod)) return [];
    const ports = view.inventory.hostPorts.get(pod.key) ?? [];
    const found = ports.find(
      each =>
        String(each.hostPort) === port &&
        each.protocol === protocol &&
        (each.hostIp === undefined || dialled.includes(each.hostIp)),
    );
    if (found === undefined) return [];
    const translation: Translation = { kind: 'node-port', node, addresses: dialled, port: found.hostPort };
    return podEndpoints(view, pod).map(endpoint => ({ endpoint, protocol, port: found.port, translation }));
  });
  if (targets.length === 0) return undefined;
  const pods = [...new Set(targets.map(({ endpoint }) => endpoint.name))].join(' and ');
  return {
    targets,
    notes: [`port ${port} of node ${node} is a host port of ${pods}: ${asPodBehind(node)}`],
  };
}

/** Without Services and host ports it is unknown whether the port leads to a pod. */
function unknownPortNotes(view: ClusterView, dialled: readonly Address[], { port }: NamedEndpoint): string[] {
  if (port === undefined || view.knowsInventory || nodeDialled(view, dialled) === undefined) return [];
  return [
    `where a Service or a host port leads from port ${port} of that node to a pod, ask for that pod: the agent knows neither`,
  ];
}

/** `shop/api:80` of the workload, where a Service of the same name has the port, and leads to another one. */
function namesakeNotes(
  { inventory, defaultNamespace }: ClusterView,
  { name, port }: NamedEndpoint,
  targets: readonly Target[],
): string[] {
  if (name.kind !== 'pod' || targets[0]?.endpoint.workload === undefined) return [];
  const { namespace = defaultNamespace } = name;
  const key = `${namespace}/${name.name}` as const;
  const ports = inventory.services.get(key)?.ports ?? [];
  if (!ports.some(each => String(each.port) === port && each.target !== each.port)) return [];
  return [
    `${key} is taken for ${targets[0].endpoint.workload}: for port ${port} of the Service, ask for ${namespace}/svc/${name.name}:${port}`,
  ];
}

/** Kubernetes takes ports of nodes for Services from here, by default. */
const NODE_PORTS = { first: 30_000, last: 32_767 };

function maybeNodePort(
  view: ClusterView,
  dialled: readonly Address[],
  { port }: NamedEndpoint,
): string | undefined {
  const number = Number(port);
  if (view.knowsInventory || !(number >= NODE_PORTS.first && number <= NODE_PORTS.last)) return undefined;
  const node = nodeDialled(view, dialled);
  if (node === undefined) return undefined;
  return `port ${port} of node ${node} may lead to a Service, and Services are not known here: ask for a pod behind it, or ask the cluster (--kubeconfig)`;
}

function nodeDialled({ cluster }: ClusterView, dialled: readonly Address[]): string | undefined {
  const nodes = [...cluster.nodes.values()];
  return nodes.find(node => addressesOfNode(node).some(address => dialled.includes(address)))?.name;
}
