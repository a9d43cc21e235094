/** The kernel's notifications of new connections in a network namespace, for as long as the socket is open. */

import type { Address } from '../../../model/address.ts';
import type { Flow } from '../../../model/flow.ts';
import { NETLINK_NETFILTER } from '../nftables/constants.ts';
import type { Message } from '../wire/messages.ts';
import { NetlinkSocket, Notifications } from '../wire/socket.ts';
import {
  CT_MSG,
  CTA,
  CTA_PROTO,
  CTA_TUPLE,
  DESTINATION,
  find,
  portOf,
  protocolOf,
  SOURCE,
  tupleAddress,
} from './ctnetlink.ts';

/** NFNLGRP_CONNTRACK_NEW, the first group. */
const NEW = 1;
/** The kernel doubles the size: it holds some eight thousand unread connections. Beyond that, connections are lost. */
const BUFFER = 4 << 20;

export class NewConnections {
  readonly #socket: NetlinkSocket;
  readonly #notifications: Notifications<NewConnection>;

  private constructor(socket: NetlinkSocket) {
    this.#socket = socket;
    this.#notifications = new Notifications(socket, readNewConnection);
  }

  /** Opens the socket in the network namespace of the calling thread. Throws SocketError. */
  static open(bufferBytes = BUFFER): NewConnections {
    const socket = new NetlinkSocket(NETLINK_NETFILTER);
    try {
      socket.countLosses();
      socket.join(NEW, bufferBytes);
      return new NewConnections(socket);
    } catch (error) {
      socket.close();
      throw error;
    }
  }

  /** Connections that the kernel had no room for, or that could not be read: it sends one in each datagram. */
  get lost(): number {
    return this.#socket.lost + this.#notifications.garbled;
  }

  /** Visits the waiting connections, as long as `mayGoOn` returns true for their number. Returns at once. */
  read(mayGoOn: (count: number) => boolean, visit: (connection: NewConnection) => void): void {
    this.#notifications.visit(mayGoOn, visit);
  }

  close(): void {
    this.#socket.close();
  }
}

/** A new connection as conntrack reports it (NFNLGRP_CONNTRACK_NEW). There may be thousands a second. */
export interface NewConnection {
  /** The flow as policy sees it: after any translation. */
  readonly flow: Flow;
  readonly sourcePort?: number;
  readonly icmp?: { readonly type: number; readonly code: number };
  /** The destination that was dialled, if it was translated. */
  readonly dialled?: { readonly address: Address; readonly port?: number };
}

/** CTA_PROTO_ICMP_TYPE, CTA_PROTO_ICMP_CODE, and those of ICMPv6. */
const ICMP = { TYPE: 5, CODE: 6, V6_TYPE: 8, V6_CODE: 9 } as const;

/** Undefined for any other message. Throws RangeError where its attributes are none. */
export function readNewConnection({ type, attributes }: Message): NewConnection | undefined {
  const original = type === CT_MSG.NEW ? find(attributes, CTA.TUPLE_ORIG) : undefined;
  const reply = original && find(attributes, CTA.TUPLE_REPLY);
  if (original === undefined || reply === undefined) return undefined;
  const [opened, answered] = [find(original, CTA_TUPLE.IP)!, find(reply, CTA_TUPLE.IP)!];
  const [sent, answering] = [find(original, CTA_TUPLE.PROTO)!, find(reply, CTA_TUPLE.PROTO)!];
  const [to, port] = [tupleAddress(answered, SOURCE), portOf(find(answering, CTA_PROTO.SRC_PORT))];
  const [address, dialledPort] = [tupleAddress(opened, DESTINATION), portOf(find(sent, CTA_PROTO.DST_PORT))];
  const sourcePort = portOf(find(sent, CTA_PROTO.SRC_PORT));
  const protocol = protocolOf(find(sent, CTA_PROTO.NUM)!);
  const from = tupleAddress(opened, SOURCE);
  const viaService = address !== to;
  return {
    flow: { from, to, protocol, ...(port !== undefined && { port }), ...(viaService && { viaService }) },
    ...(sourcePort !== undefined && { sourcePort }),
    ...(protocol === 'ICMP' && icmpOf(sent)),
    ...((viaService || dialledPort !== port) && {
      dialled: { address, ...(dialledPort !== undefined && { port: dialledPort }) },
    }),
  };
}

function icmpOf(sent: Parameters<typeof find>[0]): Pick<NewConnection, 'icmp'> {
  const type = find(sent, ICMP.TYPE) ?? find(sent, ICMP.V6_TYPE);
  const code = find(sent, ICMP.CODE) ?? find(sent, ICMP.V6_CODE);
  if (type === undefined || code === undefined) return {};
  return { icmp: { type: type.bytes[type.start]!, code: code.bytes[code.start]! } };
}
