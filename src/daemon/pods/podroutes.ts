/** The interfaces by which this node's routes lead to its pods, for checks of a network that another plugin made. */
import type { PodRoute, Reading } from '../../kernel/host/facts.ts';
import { writeGetRouteTo } from '../../kernel/netlink/route/rtnetlink.ts';
import { readRoute } from '../../kernel/netlink/route/rtnetlink-read.ts';
import { listLinks, NO_ROUTE, RtnetlinkSocket } from '../../kernel/netlink/route/rtnetlink-socket.ts';
import { getOrMake } from '../../lib/collections/getormake.ts';
import type { Address } from '../../model/address.ts';

/** How many of a node's pods, and of its possible pod addresses, are looked up: all are linked in the same way. */
const MOST_ASKED = 256;

/** `uplinks` are the indices of the interfaces by which packets leave the node for elsewhere. Never throws. */
export async function podRoutes(
  pods: readonly Address[],
  uplinks: readonly number[],
): Promise<Reading<readonly PodRoute[]>> {
  const socket = new RtnetlinkSocket();
  try {
    return { value: await listPodRoutes(socket, pods, uplinks) };
  } catch (error) {
    return { unreadable: (error as Error).message };
  } finally {
    socket.close();
  }
}

/** Reads the routes in the network namespace of the socket. A pod without a route is left out. */
export async function listPodRoutes(
  socket: RtnetlinkSocket,
  pods: readonly Address[],
  uplinks: readonly number[],
): Promise<PodRoute[]> {
  const asked = pods.slice(0, MOST_ASKED);
  const devices = await devicesTo(socket, asked);
  const leading = new Map<number, Address[]>();
  for (const [at, index] of devices.entries())
    if (index !== undefined) getOrMake(leading, index, () => []).push(asked[at]!);
  const links = await listLinks(socket);
  return links.flatMap(({ index, name, kind }) => {
    const addresses = leading.get(index);
    if (addresses === undefined) return [];
    return [{ device: name, ...(kind && { kind }), isUplink: uplinks.includes(index), addresses }];
  });
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
