/** By which interfaces the kernel would send to addresses. */

import { writeGetRouteTo } from '../../kernel/netlink/route/rtnetlink.ts';
import { readRoute } from '../../kernel/netlink/route/rtnetlink-read.ts';
import { NO_WAY, type RtnetlinkSocket } from '../../kernel/netlink/route/rtnetlink-socket.ts';
import type { Address } from '../../model/address.ts';

/** Their indices, in the order of the addresses; undefined where none leads there, or the address is the node's own. */
export async function devicesTo(
  socket: RtnetlinkSocket,
  addresses: readonly Address[],
): Promise<(number | undefined)[]> {
  const steps = addresses.map(address => ({
    what: `ask the way to ${address}`,
    absent: NO_WAY,
    write: (to: Parameters<typeof writeGetRouteTo>[0], sequence: number) =>
      writeGetRouteTo(to, sequence, address),
  }));
  const routes = steps.length === 0 ? [] : await socket.getEach(steps, readRoute);
  return routes.map(route => (route?.type === undefined ? route?.device : undefined));
}
