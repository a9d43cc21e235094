/**
 * Frames to 01:80:c2:00:00:0e, the address of LLDP. A bridge hands them to the node by the port that they come by, and asks
 * no hook (br_handle_frame): whatever is in them reaches connection tracking as if nobody had to be asked, so that a pod
 * could make what it sends an answer, and its bridge learns from them. A bridge that forwards them asks its hooks of them
 * as of any other frame, and the rules of its ports drop them (podports.ts). Whoever listens for LLDP on an interface of
 * the node hears it before the bridge does.
 */

import { writeGroupForward } from '../kernel/netlink/route/rtnetlink.ts';
import { listLinks, type RtnetlinkSocket } from '../kernel/netlink/route/rtnetlink-socket.ts';

/** The bit of 01:80:c2:00:00:0e. */
const LLDP = 1 << 0x0e;

/** Answers the names of the bridges that are others now. Throws RtnetlinkError. */
export async function askHooksOfLldp(
  socket: Pick<RtnetlinkSocket, 'dump' | 'change'>,
  bridges: readonly number[],
): Promise<readonly string[]> {
  const links = await listLinks(socket);
  const unasked = links.filter(
    ({ index, groupForward }) =>
      bridges.includes(index) && groupForward !== undefined && !(groupForward & LLDP),
  );
  await socket.change(
    unasked.map(({ index, name, groupForward }) => ({
      what: `have bridge ${name} forward LLDP`,
      write: (to, sequence) => writeGroupForward(to, sequence, index, groupForward! | LLDP),
    })),
  );
  return unasked.map(({ name }) => name);
}
