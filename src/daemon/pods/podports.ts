/**
 * Finds the pod behind each port of a bridge, from the kernel alone. For a veth, the kernel names the network namespace
 * of its other end. For that namespace it gives the hardware address of the other end and all addresses, which needs
 * CAP_NET_ADMIN over it. The runtime is not asked, and nothing is believed that a pod could make up.
 */

import { type NamespaceId, writeGetAddresses, writeGetLinkIn } from '../../kernel/netlink/route/rtnetlink.ts';
import { type Link, readDeviceAddress, readLink } from '../../kernel/netlink/route/rtnetlink-read.ts';
import { RtnetlinkError, type RtnetlinkSocket } from '../../kernel/netlink/route/rtnetlink-socket.ts';
import type { Write } from '../../kernel/netlink/wire/conversation.ts';
import type { Address, Cidr } from '../../model/address.ts';
import { cidrContains, parseCidr } from '../../model/address.ts';
import type { BridgePorts, PodPort } from '../../model/cluster.ts';
import { isMac, type Mac } from '../../model/mac.ts';

/** A port of a bridge, and the namespace behind it. */
export interface PortFacts {
  readonly index: number;
  readonly namespace: NamespaceId;
  readonly mac: Mac;
  /** The addresses of all interfaces of that namespace. */
  readonly addresses: readonly Address[];
}

export interface PodPortFacts {
  readonly ports: readonly PortFacts[];
  readonly podCidrs: readonly Cidr[];
  /** The pod networks of the node, and the networks of pods' bridges. */
  readonly networks: readonly Cidr[];
  /** The addresses of the pods that are known to run here. */
  readonly podAddresses: ReadonlySet<Address>;
  /** The addresses of the node's own interfaces, which no pod may use. */
  readonly ownAddresses: ReadonlySet<Address>;
  /** The ports of the last look. */
  readonly before: readonly PodPort[];
}

/** The ports that lead to pods. An address, or a hardware address, that several ports claim belongs to one pod. */
export function podPortsOf(facts: PodPortFacts): PodPort[] {
  const { podAddresses, ownAddresses, before } = facts;
  const had = new Map(before.map(port => [port.index, port]));
  const leading = leadingToPods(facts);
  const holders = holdersOf(leading, before, ({ addresses }) => addresses);
  const macs = holdersOf(leading, before, ({ mac }) => [mac]);
  return leading.map(port => {
    const { index, namespace } = port;
    const mac = [port.mac, had.get(index)?.mac].find(
      each => each && (macs.get(each) ?? namespace) === namespace,
    );
    const left = (had.get(index)?.addresses ?? []).filter(at => podAddresses.has(at) && !holders.has(at));
    const own = port.addresses
      .filter(address => !ownAddresses.has(address) && !LOOPBACK.test(address))
      .filter(address => holders.get(address) === namespace);
    const addresses = new Set([...withoutFree(own, left, facts), ...left]);
    return { index, mac: mac ?? NO_MAC, addresses: limited([...addresses], facts) };
  });
}

/** A port that led to a pod still does, even if the pod has removed its own address. */
function leadingToPods({ ports, podCidrs, podAddresses, ownAddresses, before }: PodPortFacts): PortFacts[] {
  const known = new Set(before.map(({ index }) => index));
  const isOfPods = (address: Address) => podAddresses.has(address) || isIn(podCidrs, address);
  return ports
    .filter(
      ({ index, addresses }) =>
        known.has(index) || addresses.some(address => isOfPods(address) && !ownAddresses.has(address)),
    )
    .sort((a, b) => a.index - b.index);
}

/**
 * A known pod may only use its known addresses in pod networks: with another one it would send as an unknown pod, which
 * no policy isolates. Addresses that it has `left` count as known, too.
 */
function withoutFree(
  own: readonly Address[],
  left: readonly Address[],
  { networks, podAddresses }: PodPortFacts,
): readonly Address[] {
  if (left.length === 0 && !own.some(address => podAddresses.has(address))) return own;
  return own.filter(
    address => podAddresses.has(address) || cidrContains(LINK_LOCAL, address) || !isIn(networks, address),
  );
}

/** Many times the number of addresses of any pod. */
const MOST_OF_PORT = 256;

/** A pod may give itself as many as it likes: its own come first. */
function limited(addresses: readonly Address[], { podAddresses, podCidrs }: PodPortFacts): Address[] {
  const rank = (address: Address) => {
    if (podAddresses.has(address) || isIn(podCidrs, address)) return 0;
    return cidrContains(LINK_LOCAL, address) ? 1 : 2;
  };
  const ranked = addresses.map(address => ({ address, rank: rank(address) }));
  const first = ranked.sort((a, b) => a.rank - b.rank).slice(0, MOST_OF_PORT);
  return first.map(({ address }) => address).sort();
}

function isIn(networks: readonly Cidr[], address: Address): boolean {
  return networks.some(network => cidrContains(network, address));
}

const LINK_LOCAL = parseCidr('fe80::/10')!;
const LOOPBACK = /^(127\.|::1$)/;

/** No bridge takes a frame from it. */
const NO_MAC = '00:00:00:00:00:00' as Mac;

/**
 * The owner of each claimed name: its previous owner, else the latest claimant, else the oldest. So a pod cannot take a
 * name by claiming it, neither its neighbour's nor that of a future pod.
 */
function holdersOf<Name>(
  ports: readonly PortFacts[],
  before: readonly PodPort[],
  named: (port: PortFacts | PodPort) => readonly Name[],
): Map<Name, NamespaceId> {
  const had = new Map(before.map(port => [port.index, new Set(named(port))]));
  const holders = new Map<Name, NamespaceId>();
  const hold = (counts: (index: number, name: Name) => boolean) => {
    for (const port of ports)
      for (const name of named(port))
        if (!holders.has(name) && counts(port.index, name)) holders.set(name, port.namespace);
  };
  hold((index, name) => had.get(index)?.has(name) === true);
  hold(index => !had.has(index));
  hold(() => true);
  return holders;
}

/** Facts about ports other than the pod behind them; `bridges` are those of pods. */
export function bridgePortsOf(
  interfaces: readonly Pick<Link, 'index' | 'name' | 'kind' | 'master' | 'mac'>[],
  bridges: readonly number[],
  known: readonly PodPort[],
): BridgePorts {
  const indices = new Set(known.map(({ index }) => index));
  const ports = interfaces.filter(({ master }) => master !== undefined);
  const isOfPods = ({ master }: Pick<Link, 'master'>) => bridges.includes(master!);
  const ofPods = ports.filter(isOfPods);
  const veths = ports.filter(({ kind }) => kind === 'veth');
  return {
    others: veths
      .filter(port => !isOfPods(port))
      .map(({ index }) => index)
      .sort((a, b) => a - b),
    unknown: veths
      .filter(port => isOfPods(port) && !indices.has(port.index))
      .map(({ name }) => name)
      .sort(),
    macs: [...new Set(ofPods.map(({ mac }) => mac).filter(isMac))].sort(),
  };
}

/**
 * Reads the namespace behind each port of these bridges. A port whose other end cannot be read, or is gone, is left
 * out.
 */
export async function readBridgePorts(
  socket: RtnetlinkSocket,
  interfaces: readonly Link[],
  bridges: readonly number[],
): Promise<PortFacts[]> {
  const found: PortFacts[] = [];
  for (const { index, master, peer, kind } of interfaces) {
    if (kind !== 'veth' || peer === undefined || master === undefined || !bridges.includes(master)) continue;
    const { namespace } = peer;
    const end = await readEnd(socket, namespace, peer.index);
    if (end !== undefined) found.push({ index, namespace, ...end });
  }
  return found;
}

async function readEnd(
  socket: RtnetlinkSocket,
  namespace: NamespaceId,
  index: number,
): Promise<Pick<PortFacts, 'mac' | 'addresses'> | undefined> {
  try {
    const writeLink: Write = (to, sequence) => writeGetLinkIn(to, sequence, namespace, index);
    const link = await socket.get({ what: 'look at the other end of a veth', write: writeLink }, readLink);
    const write: Write = (to, sequence) => writeGetAddresses(to, sequence, namespace);
    const addresses = await socket.dump({ what: 'list addresses of a pod', write }, readDeviceAddress);
    return link && { mac: link.mac, addresses: addresses.map(({ address }) => address) };
  } catch (error) {
    if (error instanceof RtnetlinkError) return undefined;
    throw error;
  }
}
