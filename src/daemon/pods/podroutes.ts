/** The interfaces by which this node's routes lead to its pods, for checks of a network that another plugin made. */
import type { FlannelTunnel, Ours, PodRoute } from '../../kernel/host/facts.ts';
import { writeGetRouteTo } from '../../kernel/netlink/route/rtnetlink.ts';
import { type Link, readRoute } from '../../kernel/netlink/route/rtnetlink-read.ts';
import { listLinks, NO_ROUTE, RtnetlinkSocket } from '../../kernel/netlink/route/rtnetlink-socket.ts';
import { getOrMake } from '../../lib/collections/getormake.ts';
import type { Address } from '../../model/address.ts';

/** How many of a node's pods, and of its possible pod addresses, are looked up: all are linked in the same way. */
const MOST_ASKED = 256;

/** `uplinks` are the indices of the interfaces by which packets leave the node for elsewhere. Never throws. */
export async function readPodLinks(
  pods: readonly Address[],
  uplinks: readonly number[],
): Promise<Pick<Ours, 'podRoutes' | 'flannelTunnels'>> {
  const socket = new RtnetlinkSocket();
  try {
    const { podRoutes, flannelTunnels } = await listPodLinks(socket, pods, uplinks);
    return { podRoutes: { value: podRoutes }, flannelTunnels };
  } catch (error) {
    return { podRoutes: { unreadable: (error as Error).message } };
  } finally {
    socket.close();
  }
}

interface PodLinks {
  readonly podRoutes: readonly PodRoute[];
  readonly flannelTunnels: readonly FlannelTunnel[];
}

/** Reads routes and interfaces in the network namespace of the socket. A pod without a route is left out. */
export async function listPodLinks(
  socket: RtnetlinkSocket,
  pods: readonly Address[],
  uplinks: readonly number[],
): Promise<PodLinks> {
  const asked = pods.slice(0, MOST_ASKED);
  const devices = await devicesTo(socket, asked);
  const leading = new Map<number, Address[]>();
  for (const [at, index] of devices.entries())
    if (index !== undefined) getOrMake(leading, index, () => []).push(asked[at]!);
  const links = await listLinks(socket);
  const podRoutes = links.flatMap((link): PodRoute[] => {
    const { index, name, kind } = link;
    const addresses = leading.get(index);
    if (addresses === undefined) return [];
    const isUplink = uplinks.includes(index);
    return [{ device: name, ...(kind && { kind }), isUplink, addresses, mtu: largestMtu(link, links) }];
  });
  return { podRoutes, flannelTunnels: flannelTunnels(links) };
}

/** Of the ports of a bridge, since these are the ends of its pods; of another interface its own. */
function largestMtu({ index, mtu }: Link, links: readonly Link[]): number {
  const ports = links.filter(({ master }) => master === index);
  return ports.length === 0 ? mtu : Math.max(...ports.map(port => port.mtu));
}

/** `flannel.1`, `flannel-v6.1`, `flannel-wg`: flanneld names the interfaces that it makes. */
function flannelTunnels(links: readonly Link[]): FlannelTunnel[] {
  return links.filter(({ name }) => /^flannel[.-]/.test(name)).map(({ name, mtu }) => ({ name, mtu }));
}

// The interfaces by which the kernel would send to addresses.

/**
 * Indices of the interfaces, in the order of the addresses; undefined for an address without a route, or of the node
 * itself.
 */
export async function devicesTo(
  socket: RtnetlinkSocket,
  addresses: readonly Address[],
): Promise<(number | undefined)[]> {
  const steps = addresses.map(address => ({
    what: `ask the way to ${address}`,
    absent: NO_ROUTE,
    write: (to: Parameters<typeof writeGetRouteTo>[0], sequence: number) =>
      writeGetRouteTo(to, sequence, address),
  }));
  const routes = steps.length === 0 ? [] : await socket.getEach(steps, readRoute);
  return routes.map(route => (route?.type === undefined ? route?.device : undefined));
}
