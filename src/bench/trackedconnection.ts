/** Connections that nobody opened: written into the kernel's tracking as if packets had made them. */
import { type Address, addressBytes } from '../model/address.ts';
import { CT_MSG, CTA, CTA_IP, CTA_PROTO, CTA_TUPLE, IPS } from '../netlink/conntrack/ctnetlink.ts';
import { NETLINK_NETFILTER, NFPROTO } from '../netlink/nftables/constants.ts';
import { AttributeWriter } from '../netlink/wire/attributes.ts';
import { NLM_F } from '../netlink/wire/constants.ts';
import { errnoName } from '../netlink/wire/errno.ts';
import { beginMessage, endMessage, readMessages } from '../netlink/wire/messages.ts';
import { readReply } from '../netlink/wire/replies.ts';
import { NetlinkSocket } from '../netlink/wire/socket.ts';

/** Of IPv4. */
export interface TrackedConnection {
  readonly from: Address;
  readonly sourcePort: number;
  readonly to: Address;
  readonly port: number;
  /** Of UDP the other end has never answered; of TCP it is established. */
  readonly protocol: 'TCP' | 'UDP';
}

const TIMEOUT_S = 3600;

/** In the network namespace of the calling thread. What is tracked already stays as it is. */
export function track(connections: Iterable<TrackedConnection>): void {
  const socket = new NetlinkSocket(NETLINK_NETFILTER);
  const to = new AttributeWriter(1 << 24);
  let sequence = 0;
  for (const connection of connections) write(to, ++sequence, connection);
  try {
    socket.send(to.memory, to.length);
    checkRefusals(socket);
  } finally {
    socket.close();
  }
}

function checkRefusals(socket: NetlinkSocket): void {
  for (let length = socket.receive(); length > 0; length = socket.receive())
    for (const message of readMessages(socket.received, length)) {
      const code = errnoName(readReply(message)?.errno ?? 0);
      if (code !== 'EEXIST') throw new Error(`${code}: a connection could not be tracked`);
    }
}

function write(to: AttributeWriter, sequence: number, connection: TrackedConnection): void {
  const { from, sourcePort, to: answerer, port, protocol } = connection;
  const flags = NLM_F.REQUEST | NLM_F.CREATE | NLM_F.EXCL;
  const start = beginMessage(to, CT_MSG.NEW, flags, sequence, NFPROTO.ip);
  writeTuple(to, CTA.TUPLE_ORIG, protocol, [from, sourcePort], [answerer, port]);
  writeTuple(to, CTA.TUPLE_REPLY, protocol, [answerer, port], [from, sourcePort]);
  to.u32(CTA.TIMEOUT, TIMEOUT_S);
  if (protocol === 'TCP') {
    to.u32(CTA.STATUS, IPS.SEEN_REPLY | IPS.CONFIRMED);
    to.nest(CTA.PROTOINFO, () => to.nest(1, () => to.hex(1, '03'))); // CTA_PROTOINFO_TCP_STATE: ESTABLISHED
  }
  endMessage(to, start);
}

type End = readonly [Address, number];

const PROTOCOL = { TCP: '06', UDP: '11' } as const;

function writeTuple(
  to: AttributeWriter,
  type: number,
  protocol: TrackedConnection['protocol'],
  [source, sport]: End,
  [destination, dport]: End,
): void {
  to.nest(type, () => {
    to.nest(CTA_TUPLE.IP, () => {
      to.hex(CTA_IP.V4_SRC, hexOf(addressBytes(source)));
      to.hex(CTA_IP.V4_DST, hexOf(addressBytes(destination)));
    });
    to.nest(CTA_TUPLE.PROTO, () => {
      to.hex(CTA_PROTO.NUM, PROTOCOL[protocol]);
      to.hex(CTA_PROTO.SRC_PORT, hexOf([sport >> 8, sport & 255]));
      to.hex(CTA_PROTO.DST_PORT, hexOf([dport >> 8, dport & 255]));
    });
  });
}

function hexOf(bytes: ArrayLike<number>): string {
  return Buffer.from(Array.from(bytes)).toString('hex');
}
