/** Which hosts a laboratory has: what of a cluster has an address, and where it is. Pure data. */
import { type Address, parseAddress } from '../../src/model/address.ts';
import { addressOwners } from '../../src/model/addressowners.ts';
import type { Cluster } from '../../src/model/cluster.ts';
import { credibleTunnelAddresses } from '../../src/model/tunneladdresses.ts';
import { tunnelEnds } from '../../src/model/tunnels.ts';

export interface LabHost {
  readonly name: string;
  readonly addresses: readonly Address[];
}

export interface PodHost extends LabHost {
  readonly node: string;
}

/**
 *     pod ── node ──┐
 *     pod ── node ──┼── outside: every address of no pod or node, and the router between the nodes
 *     pod ───┘
 */
export interface Topology {
  readonly nodes: readonly LabHost[];
  readonly pods: readonly PodHost[];
  readonly outside: readonly Address[];
}

/** The hosts of a cluster. `mentioned` are addresses that must exist somewhere: those of no pod or node are outside. */
export function topologyOf(cluster: Cluster, mentioned: Iterable<Address> = []): Topology {
  const listed = nodeHosts(cluster);
  const pods = podHosts(cluster, new Set(listed.flatMap(node => node.addresses)));
  const taken = new Set([...listed, ...pods].flatMap(host => host.addresses));
  const wanted = [...new Set(mentioned)].filter(address => !taken.has(address));
  const nodes = listed.map(node => withUnlisted(node, cluster, wanted, taken));
  const inside = new Set([...nodes, ...pods].flatMap(host => host.addresses));
  return { nodes, pods, outside: wanted.filter(address => !inside.has(address)).sort() };
}

/**
 * The host with the addresses that its status does not list: of its tunnel, and the first two of its pod networks. If
 * several nodes claim one, the first has it.
 */
function withUnlisted(
  host: LabHost,
  { nodes }: Cluster,
  wanted: readonly Address[],
  taken: Set<Address>,
): LabHost {
  const node = nodes.get(host.name);
  if (node === undefined) return host;
  const own = new Set([...tunnelEnds(node), ...credibleTunnelAddresses(node)]);
  const unlisted = wanted.filter(address => own.has(address) && !taken.has(address));
  for (const address of unlisted) taken.add(address);
  return unlisted.length === 0 ? host : { ...host, addresses: [...host.addresses, ...unlisted.sort()] };
}

/** Two topologies with the same text can use the same laboratory. */
export function topologyKey(topology: Topology): string {
  return JSON.stringify(topology);
}

function nodeHosts(cluster: Cluster): LabHost[] {
  const names = new Set([...cluster.nodes.keys(), ...[...cluster.pods.values()].map(pod => pod.node)]);
  return [...names]
    .filter(name => name !== '')
    .sort()
    .map(name => ({ name, addresses: nodeAddresses(cluster, name) }));
}

// A pod with hostNetwork shares its node's addresses, also where the Node object does not list them.
function nodeAddresses(cluster: Cluster, name: string): Address[] {
  const guests = [...cluster.pods.values()].filter(pod => pod.hostNetwork && pod.node === name);
  return [...new Set([cluster.nodes.get(name), ...guests].flatMap(holder => holder?.addresses ?? []))];
}

function podHosts(cluster: Cluster, taken: ReadonlySet<Address>): PodHost[] {
  const owners = addressOwners(cluster);
  return [...cluster.pods.values()]
    .map(pod => ({
      name: pod.key,
      node: pod.node,
      addresses: pod.addresses.filter(address => owners.get(address) === pod && !taken.has(address)),
    }))
    .filter(pod => pod.node !== '' && pod.addresses.length > 0)
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Parses an address that is written in code. */
export function address(text: string): Address {
  const parsed = parseAddress(text);
  if (parsed === undefined) throw new SyntaxError(`"${text}" is not an IP address`);
  return parsed;
}
