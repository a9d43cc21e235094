import type { AttributeWriter } from '../wire/attributes.ts';
import { writeGetLink } from './rtnetlink.ts';
import { type Link, readLink } from './rtnetlink-read.ts';
import type { RtnetlinkSocket } from './rtnetlink-socket.ts';

/** All interfaces of the socket's network namespace. */
export function listLinks(socket: Pick<RtnetlinkSocket, 'dump'>): Promise<Link[]> {
  const write = (to: AttributeWriter, sequence: number) => writeGetLink(to, sequence);
  return socket.dump({ what: 'list interfaces', write }, readLink, 'locked');
}
