/** Connections without packets: written into the kernel's tracking as if packets had made them. */

import { CT_MSG, CTA, CTA_IP, CTA_PROTO, CTA_TUPLE, IPS } from '../src/kernel/netlink/conntrack/ctnetlink.ts';
import { NETLINK_NETFILTER, NFPROTO } from '../src/kernel/netlink/nftables/constants.ts';
import { AttributeWriter } from '../src/kernel/netlink/wire/attributes.ts';
import { errnoName, NLM_F } from '../src/kernel/netlink/wire/constants.ts';
import { beginMessage, endMessage, readMessages, readReply } from '../src/kernel/netlink/wire/messages.ts';
import { NetlinkSocket } from '../src/kernel/netlink/wire/socket.ts';
import { type Address, addressBytes } from '../src/model/address.ts';

/** A connection of IPv4. */
export interface TrackedConnection {
  readonly from: Address;
  /** For ICMP the identifier of the echo requests. */
  readonly sourcePort: number;
  readonly to: Address;
  readonly port: number;
  readonly protocol: keyof typeof PROTOCOL;
  /** Whether the other end has answered: of TCP it is established then. By default of TCP alone. */
  readonly replied?: boolean;
  /** Where it was sent, if that was translated to its other end. */
  readonly dialled?: { readonly address: Address; readonly port: number };
}

const PROTOCOL = { ICMP: '01', TCP: '06', UDP: '11', SCTP: '84' } as const;
const TIMEOUT_S = 3600;

/** In the network namespace of the calling thread. What is tracked already stays as it is. */
export function track(connections: Iterable<TrackedConnection>): void {
  tracking(connections)();
}

/** Returns a function that tracks the connections in the network namespace of the thread that calls it. */
export function tracking(connections: Iterable<TrackedConnection>): () => void {
  const to = new AttributeWriter(1 << 24);
  let sequence = 0;
  for (const connection of connections) write(to, ++sequence, connection);
  return () => {
    const socket = new NetlinkSocket(NETLINK_NETFILTER);
    try {
      socket.send(to.memory, to.length);
      checkRefusals(socket);
    } finally {
      socket.close();
    }
  };
}

function checkRefusals(socket: NetlinkSocket): void {
  for (let length = socket.receive(); length > 0; length = socket.receive())
    for (const message of readMessages(socket.received, length)) {
      const code = errnoName(readReply(message)?.errno ?? 0);
      if (code !== 'EEXIST') throw new Error(`${code}: a connection could not be tracked`);
    }
}

function write(to: AttributeWriter, sequence: number, connection: TrackedConnection): void {
  const { from, sourcePort, to: answerer, port, protocol, dialled } = connection;
  const { replied = protocol === 'TCP' } = connection;
  const flags = NLM_F.REQUEST | NLM_F.CREATE | NLM_F.EXCL;
  const start = beginMessage(to, CT_MSG.NEW, flags, sequence, NFPROTO.ip);
  const opened: End = dialled === undefined ? [answerer, port] : [dialled.address, dialled.port];
  writeTuple(to, CTA.TUPLE_ORIG, protocol, [from, sourcePort], opened);
  writeTuple(to, CTA.TUPLE_REPLY, protocol, [answerer, port], [from, sourcePort]);
  to.u32(CTA.TIMEOUT, TIMEOUT_S);
  if (replied) to.u32(CTA.STATUS, IPS.SEEN_REPLY | IPS.CONFIRMED);
  if (protocol === 'TCP') writeTcpState(to, replied ? TCP_STATE.ESTABLISHED : TCP_STATE.SYN_SENT);
  endMessage(to, start);
}

/** `linux/netfilter/nf_conntrack_tcp.h` */
const TCP_STATE = { SYN_SENT: '01', ESTABLISHED: '03' } as const;
/** CTA_PROTOINFO_TCP, CTA_PROTOINFO_TCP_STATE. */
const PROTOINFO = { TCP: 1, TCP_STATE: 1 } as const;

function writeTcpState(to: AttributeWriter, state: string): void {
  to.nest(CTA.PROTOINFO, () => to.nest(PROTOINFO.TCP, () => to.hex(PROTOINFO.TCP_STATE, state)));
}

type End = readonly [Address, number];

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
      if (protocol === 'ICMP')
        writeEcho(to, type === CTA.TUPLE_ORIG ? sport : dport, type === CTA.TUPLE_ORIG);
      else writePorts(to, sport, dport);
    });
  });
}

function writePorts(to: AttributeWriter, sport: number, dport: number): void {
  to.hex(CTA_PROTO.SRC_PORT, hexOf([sport >> 8, sport & 255]));
  to.hex(CTA_PROTO.DST_PORT, hexOf([dport >> 8, dport & 255]));
}

/** CTA_PROTO_ICMP_*. */
const ECHO = { ID: 4, TYPE: 5, CODE: 6 } as const;

function writeEcho(to: AttributeWriter, id: number, isRequest: boolean): void {
  to.hex(ECHO.ID, hexOf([id >> 8, id & 255]));
  to.hex(ECHO.TYPE, isRequest ? '08' : '00');
  to.hex(ECHO.CODE, '00');
}

function hexOf(bytes: ArrayLike<number>): string {
  return Buffer.from(Array.from(bytes)).toString('hex');
}
