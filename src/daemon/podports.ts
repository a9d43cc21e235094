/**
 * Which pod is behind which port of a bridge: asked of the kernel alone. It says of a veth which network namespace its
 * other end is in, and of that namespace, to whoever has CAP_NET_ADMIN over it, the hardware address of the other end and
 * all addresses; no word of the runtime is needed, and none of the pod's that it cannot keep.
 */
import type { Address, Cidr } from '../model/address.ts';
import { cidrContains } from '../model/address.ts';
import type { PodPort } from '../model/cluster.ts';
import type { Mac } from '../model/mac.ts';
import { type NamespaceId, writeGetAddresses, writeGetLinkIn } from '../netlink/route/rtnetlink.ts';
import { type Link, readDeviceAddress, readLink } from '../netlink/route/rtnetlink-read.ts';
import { RtnetlinkError, type RtnetlinkSocket } from '../netlink/route/rtnetlink-socket.ts';
import type { Write } from '../netlink/wire/conversation.ts';

/** A port of a bridge, and what is behind it. */
export interface PortFacts {
  readonly index: number;
  readonly namespace: NamespaceId;
  readonly mac: Mac;
  /** Of all interfaces of that namespace. */
  readonly addresses: readonly Address[];
}

export interface PodPortFacts {
  readonly ports: readonly PortFacts[];
  readonly podCidrs: readonly Cidr[];
  /** Of the pods that are known to run here. */
  readonly podAddresses: ReadonlySet<Address>;
  /** Of the node's own interfaces: nobody else's. */
  readonly ownAddresses: ReadonlySet<Address>;
  /** What was known at the last look. */
  readonly before: readonly PodPort[];
}

/** The ports that lead to pods. An address that several name stays with who had it, else it is the oldest port's. */
export function podPortsOf(facts: PodPortFacts): PodPort[] {
  const { podCidrs, podAddresses, ownAddresses } = facts;
  const isOfPods = (address: Address) =>
    podAddresses.has(address) || podCidrs.some(cidr => cidrContains(cidr, address));
  // What led to a pod still does: also one that has taken its own address away.
  const known = new Set(facts.before.map(({ index }) => index));
  const leading = facts.ports
    .filter(
      ({ index, addresses }) =>
        known.has(index) || addresses.some(address => isOfPods(address) && !ownAddresses.has(address)),
    )
    .sort((a, b) => a.index - b.index);
  const holders = holdersOf(leading, facts.before);
  return leading.map(({ index, namespace, mac, addresses }) => ({
    index,
    mac,
    addresses: [...new Set(addresses)]
      .filter(address => !ownAddresses.has(address) && !LOOPBACK.test(address))
      .filter(address => holders.get(address) === namespace)
      .sort(),
  }));
}

const LOOPBACK = /^(127\.|::1$)/;

/** The namespace that has each address: a pod that names its neighbour's does not take it. */
function holdersOf(ports: readonly PortFacts[], before: readonly PodPort[]): Map<Address, NamespaceId> {
  const had = new Set(
    before.flatMap(({ index, addresses }) => addresses.map(address => `${index} ${address}`)),
  );
  const holders = new Map<Address, NamespaceId>();
  const hold = (kept: boolean) => {
    for (const { index, namespace, addresses } of ports)
      for (const address of addresses)
        if (!holders.has(address) && had.has(`${index} ${address}`) === kept) holders.set(address, namespace);
  };
  hold(true);
  hold(false);
  return holders;
}

/** What is behind each port of these bridges. A port whose other end cannot be read, or is gone, is left out. */
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
