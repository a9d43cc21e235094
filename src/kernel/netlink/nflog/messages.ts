/** nfnetlink_log (`linux/netfilter/nfnetlink_log.h`): packets that rules hand over, and how a group is asked for them. */
import { type Address, addressFromBytes } from '../../../model/address.ts';
import { CTA, CTA_IP, CTA_PROTO, CTA_TUPLE } from '../conntrack/ctnetlink.ts';
import {
  type AttributeWriter,
  readAttributes,
  readString,
  readU16,
  readU32,
  type Span,
} from '../wire/attributes.ts';
import { NLM_F } from '../wire/constants.ts';
import { beginMessage, endMessage, type Message } from '../wire/messages.ts';

const SUBSYSTEM = 4 << 8;
/** NFULNL_MSG_*. */
const LOG_MSG = { PACKET: SUBSYSTEM, CONFIG: SUBSYSTEM | 1 } as const;
// NFULA_CFG_*, NFULNL_CFG_CMD_BIND, NFULNL_COPY_PACKET, NFULNL_CFG_F_*.
const CONFIG = { CMD: 1, MODE: 2, BUFFER: 3, TIMEOUT: 4, THRESHOLD: 5, FLAGS: 6 } as const;
const BIND = 1;
const COPY_PACKET = 2;
const NUMBERED = 1;
const WITH_CONNECTION = 4;
/** NFULA_*. */
const PACKET = {
  HEADER: 1,
  INDEV: 4,
  OUTDEV: 5,
  PAYLOAD: 9,
  PREFIX: 10,
  NUMBER: 12,
  CONNECTION: 18,
} as const;

export interface LogGroup {
  readonly group: number;
  /** How many bytes of each packet. */
  readonly copyBytes: number;
  /** The number of packets that are handed over at once, or fewer when the time is over. */
  readonly atOnce: number;
  /** The longest time that packets wait in the kernel, in steps of ten milliseconds. */
  readonly withinMs: number;
}

type Write = (to: AttributeWriter, sequence: number) => void;

/**
 * The requests after which the kernel hands the packets of a group over. It may refuse the last one if it cannot add
 * conntrack data.
 */
export function bindMessages({ group, copyBytes, atOnce, withinMs }: LogGroup): readonly Write[] {
  return [
    configure(group, to => to.buffer.set([BIND], to.blank(CONFIG.CMD, 1))),
    configure(group, to => {
      const at = to.blank(CONFIG.MODE, 6);
      to.buffer.writeUInt32BE(copyBytes, at);
      to.buffer[at + 4] = COPY_PACKET;
    }),
    configure(group, to => to.u32(CONFIG.TIMEOUT, Math.max(1, Math.round(withinMs / 10)))),
    configure(group, to => to.u32(CONFIG.THRESHOLD, atOnce)),
    configure(group, to => to.u16(CONFIG.FLAGS, NUMBERED)),
    configure(group, to => to.u16(CONFIG.FLAGS, NUMBERED | WITH_CONNECTION)),
  ];
}

function configure(group: number, content: (to: AttributeWriter) => void): Write {
  return (to, sequence) => {
    const start = beginMessage(to, LOG_MSG.CONFIG, NLM_F.REQUEST | NLM_F.ACK, sequence, 0, group);
    content(to);
    endMessage(to, start);
  };
}

const HOOKS = ['prerouting', 'input', 'forward', 'output', 'postrouting'] as const;

/** A packet that a rule handed over. */
export interface LoggedPacket {
  readonly prefix: string;
  readonly hook: (typeof HOOKS)[number] | undefined;
  /** Indices of interfaces. */
  readonly iif?: number;
  readonly oif?: number;
  /** Counts the packets of the group, whether or not they could be handed over. */
  readonly number?: number;
  /** The packet from the IP header on; valid until the next one is read into the same memory. */
  readonly bytes: Uint8Array;
  /** The destination that the sender dialled, before any translation. */
  readonly dialled?: OriginalDestination;
}

interface OriginalDestination {
  readonly address: Address;
  readonly port?: number;
}

/** Undefined where it is no packet. Throws RangeError where its attributes are none. */
export function readLogged({ type, attributes }: Message): LoggedPacket | undefined {
  if (type !== LOG_MSG.PACKET) return undefined;
  const found = readAttributes(attributes);
  const [header, payload, prefix] = [PACKET.HEADER, PACKET.PAYLOAD, PACKET.PREFIX].map(id => found.get(id));
  const [iif, oif, number] = [PACKET.INDEV, PACKET.OUTDEV, PACKET.NUMBER].map(id => {
    const span = found.get(id);
    return span && readU32(span);
  });
  const connection = found.get(PACKET.CONNECTION);
  const dialled = connection && readDialled(connection);
  return {
    prefix: prefix === undefined ? '' : readString(prefix),
    hook: header && HOOKS[header.bytes[header.start + 2]!],
    bytes: payload === undefined ? NOTHING : payload.bytes.subarray(payload.start, payload.end),
    ...(iif !== undefined && { iif }),
    ...(oif !== undefined && { oif }),
    ...(number !== undefined && { number }),
    ...(dialled !== undefined && { dialled }),
  };
}

const NOTHING = new Uint8Array(0);

function readDialled(connection: Span): OriginalDestination | undefined {
  const original = readAttributes(connection).get(CTA.TUPLE_ORIG);
  const tuple = original && readAttributes(original);
  const [ip, proto] = [tuple?.get(CTA_TUPLE.IP), tuple?.get(CTA_TUPLE.PROTO)];
  if (ip === undefined || proto === undefined) return undefined;
  const addresses = readAttributes(ip);
  const to = addresses.get(CTA_IP.V4_DST) ?? addresses.get(CTA_IP.V6_DST);
  const port = readAttributes(proto).get(CTA_PROTO.DST_PORT);
  if (to === undefined || ![4, 16].includes(to.end - to.start)) return undefined;
  const address = addressFromBytes(to.bytes.subarray(to.start, to.end));
  return { address, ...(port !== undefined && { port: readU16(port) }) };
}
