/**
 * What the policies of the two ends see of a connection that is translated on its way. A node translates what is
 * addressed to itself, and the address of a Service for everything that starts on it, before any rule is asked:
 *
 *   a pod dials            its egress sees          the pod behind sees
 *   a port of its node     the pod behind           the pod; its node, if the pod behind is on another one
 *   a port of another node that node and port       the pod, or its node where the network masquerades; the node that
 *                                                   was dialled, if the pod behind is not there
 *   a Service's address    the pod behind           the pod; of an external address, its node as above
 */
import { type Address, type Family, familyOf } from '../../model/address.ts';
import type { Node } from '../../model/cluster.ts';
import type { Flow } from '../../model/flow.ts';
import { credibleTunnelAddresses } from '../../model/tunneladdresses.ts';
import type { View } from '../../semantics/view.ts';
import { type ClusterView, podOf, type ResolvedEndpoint, type Target, type Translation } from './place.ts';

/** An address and port that a policy sees instead of the endpoint. */
export interface Dialled {
  readonly address: Address;
  readonly port: number;
}

export interface Way {
  /** What the egress of the source sees; absent: the endpoint. */
  readonly dialled?: Dialled;
  /** What the ingress of the endpoint sees as its client; undefined is the source. Several where nobody can tell which. */
  readonly clients: readonly (Address | undefined)[];
  /** The node on which the source would be, if it may be on several. */
  readonly onNode?: string;
}

const STRAIGHT: Way = { clients: [undefined] };

/** What is known of the cluster and of its network. */
export type Surroundings = Pick<
  View,
  'cluster' | 'owners' | 'nodeWith' | 'nodeOfUnknownPod' | 'tunnelNodeAt'
> &
  Pick<ClusterView, 'masquerade'>;

/** Where a connection starts: in a pod, whose node may not be known; on a node itself; or outside. */
interface Origin {
  readonly kind: 'pod' | 'node' | 'outside';
  readonly node?: string | undefined;
}

/** No way where the connection does not reach this target. */
export function waysTo(
  around: Surroundings,
  from: ResolvedEndpoint,
  target: Target,
  flow: Flow,
): readonly Way[] {
  const { translation } = target;
  if (translation === undefined) return [wayToPod(around, from, target, flow)];
  const origin = originOf(around, from, flow);
  const step = { around, translation, host: nodeOfTarget(target), family: familyOf(flow.to), flow };
  if (origin.kind !== 'pod' || origin.node !== undefined) return waysFrom(step, origin);
  const nodes = [...around.cluster.nodes.keys()].slice(0, MOST_NODES);
  if (nodes.length === 0) return [STRAIGHT];
  return nodes.flatMap(node => waysFrom(step, { kind: 'pod', node }).map(way => ({ ...way, onNode: node })));
}

/** N75: what a node sends to a pod of another node arrives from its tunnel, if it has one. */
function wayToPod(around: Surroundings, from: ResolvedEndpoint, target: Target, flow: Flow): Way {
  const origin = originOf(around, from, flow);
  const host = podOf(target.endpoint)?.hostNetwork ? undefined : nodeOfTarget(target);
  if (origin.kind !== 'node' || !isElsewhere(origin.node, host)) return STRAIGHT;
  const tunnel = tunnelOf(around, around.cluster.nodes.get(origin.node!), familyOf(flow.to));
  return tunnel === undefined || tunnel === flow.from ? STRAIGHT : { clients: [tunnel] };
}

/** Nodes are alike to most policies. */
const MOST_NODES = 8;

function originOf({ nodeWith, nodeOfUnknownPod }: Surroundings, from: ResolvedEndpoint, flow: Flow): Origin {
  const pod = podOf(from);
  if (pod !== undefined) return { kind: pod.hostNetwork ? 'node' : 'pod', node: pod.node || undefined };
  const node = nodeWith(flow.from);
  if (node !== undefined) return { kind: 'node', node: node.name };
  const around = nodeOfUnknownPod(flow.from);
  return around === undefined ? { kind: 'outside' } : { kind: 'pod', node: around.name };
}

/** The node that runs what answers, as far as it is known. */
function nodeOfTarget({ endpoint, node }: Target): string | undefined {
  return podOf(endpoint)?.node || node;
}

interface Step {
  readonly around: Surroundings;
  readonly translation: Translation;
  readonly host: string | undefined;
  readonly family: Family;
  readonly flow: Flow;
}

function waysFrom(step: Step, origin: Origin): readonly Way[] {
  const { translation, host } = step;
  switch (translation.kind) {
    case 'local-service':
      return isElsewhere(origin.node, host) ? [] : [STRAIGHT];
    case 'external-address':
      return waysByExternalAddress(step, origin, translation);
    case 'node-port':
      return waysByNodePort(step, origin, translation);
    case 'load-balancer':
      return [waysByLoadBalancer(step, translation)];
  }
}

/** Whether both nodes are known, and are two. */
function isElsewhere(node: string | undefined, other: string | undefined): boolean {
  return node !== undefined && other !== undefined && node !== other;
}

/** The node that a client comes to first translates: its own, or from outside any, unless the address is one node's. */
function waysByExternalAddress(
  step: Step,
  origin: Origin,
  { node, keepsSource }: Extract<Translation, { kind: 'external-address' }>,
): readonly Way[] {
  const { around, host } = step;
  if (origin.kind === 'node') return [STRAIGHT];
  if (origin.kind === 'outside' && keepsSource) return isElsewhere(node, host) ? [] : [STRAIGHT];
  if (keepsSource) return [STRAIGHT];
  const entered = origin.node ?? node;
  if (entered !== undefined) return behind(step, entered, STRAIGHT);
  const ways = [...around.cluster.nodes.keys()].flatMap(each => behind(step, each, STRAIGHT));
  return ways.length === 0 ? [STRAIGHT] : distinct(ways).slice(0, MOST_NODES + 1);
}

function distinct(ways: readonly Way[]): Way[] {
  return [...new Map(ways.map(way => [String(way.clients), way])).values()];
}

/** From the node that translated to the endpoint: a pod of this node sees the client, pods elsewhere see this node. */
function behind({ around, host, family }: Step, node: string, near: Way): Way[] {
  const sender = around.cluster.nodes.get(node);
  const address = tunnelOf(around, sender, family) ?? addressOf(sender, family);
  const far: Way = { ...near, clients: address === undefined ? near.clients : [address] };
  if (host === undefined) return [near, far];
  return [host === node ? near : far];
}

function waysByNodePort(
  step: Step,
  origin: Origin,
  { node, addresses, port, keepsSource }: Extract<Translation, { kind: 'node-port' }>,
): readonly Way[] {
  const { family, host } = step;
  const isOwn = origin.node === node;
  if (origin.kind !== 'pod' || isOwn) {
    // What starts on the node that is dialled reaches all endpoints, whatever the externalTrafficPolicy is.
    if (keepsSource) return !isOwn && isElsewhere(node, host) ? [] : [STRAIGHT];
    return behind(step, node, STRAIGHT);
  }
  const address = addresses.find(each => familyOf(each) === family);
  const near: Way = {
    ...(address !== undefined && { dialled: { address, port } }),
    clients: clientsOnOtherNodes(step, origin),
  };
  if (keepsSource) return isElsewhere(node, host) ? [] : [near];
  return behind(step, node, near);
}

/** As whom a pod comes to other nodes: itself, or its node where the network masquerades what goes to nodes. */
function clientsOnOtherNodes({ around, family }: Step, { node }: Origin): Way['clients'] {
  const { masquerade, cluster } = around;
  const address = addressOf(cluster.nodes.get(node!), family);
  if (masquerade === 'no' || address === undefined) return [undefined];
  return masquerade === 'yes' ? [address] : [undefined, address];
}

/** Whether the load balancer keeps the client's address, or who else the pods see, nobody can tell. */
function waysByLoadBalancer(
  { around, family, host }: Step,
  { address, port }: Extract<Translation, { kind: 'load-balancer' }>,
): Way {
  // The endpoint's own node forwards before it puts its address in place of another.
  const others = [...around.cluster.nodes.values()].filter(({ name }) => name !== host);
  const nodes = others.flatMap(node => addressOf(node, family) ?? []);
  return { dialled: { address, port }, clients: [undefined, address, ...nodes.slice(0, MOST_NODES)] };
}

/**
 * The address from which a node sends to pods of other nodes, if that is none of its status. A node sends from it also
 * where another node, or another node's pod, claims the address, although policy does not count it as this node's then (N75).
 */
function tunnelOf(
  { tunnelNodeAt, owners }: Surroundings,
  node: Node | undefined,
  family: Family,
): Address | undefined {
  if (node === undefined) return undefined;
  const own = credibleTunnelAddresses(node).filter(
    address => familyOf(address) === family && owners.get(address)?.node !== node.name,
  );
  return own.find(address => tunnelNodeAt(address) === node) ?? own[0];
}

function addressOf(node: Node | undefined, family: Family): Address | undefined {
  return node?.addresses.find(address => familyOf(address) === family);
}
