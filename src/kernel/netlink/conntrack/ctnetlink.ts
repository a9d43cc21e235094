/** ctnetlink messages (`linux/netfilter/nfnetlink_conntrack.h`) to and from connections. */

import { slotOf } from '../../../lib/collections/placeof.ts';
import {
  type Address,
  addressBytes,
  addressFromBytes,
  type Family,
  familyOf,
} from '../../../model/address.ts';
import type { Flow, FlowProtocol } from '../../../model/flow.ts';
import { flowProtocol } from '../../../model/ipprotocol.ts';
import type { Connection } from '../../../nft/conntrack.ts';
import { NFPROTO } from '../nftables/constants.ts';
import { type AttributeWriter, align, readU32, type Span } from '../wire/attributes.ts';
import { NLM_F } from '../wire/constants.ts';
import { beginMessage, endMessage, type Message } from '../wire/messages.ts';

const NFNL_SUBSYS_CTNETLINK = 1;

/** IPCTNL_MSG_CT_*. */
export const CT_MSG = {
  NEW: NFNL_SUBSYS_CTNETLINK << 8,
  GET: (NFNL_SUBSYS_CTNETLINK << 8) | 1,
  DELETE: (NFNL_SUBSYS_CTNETLINK << 8) | 2,
  GET_STATS: (NFNL_SUBSYS_CTNETLINK << 8) | 5,
} as const;

/** CTA_*. */
export const CTA = {
  TUPLE_ORIG: 1,
  TUPLE_REPLY: 2,
  STATUS: 3,
  PROTOINFO: 4,
  TIMEOUT: 7,
  ID: 12,
  ZONE: 18,
  FILTER: 25,
} as const;
export const CTA_TUPLE = { IP: 1, PROTO: 2 } as const;
export const CTA_IP = { V4_SRC: 1, V4_DST: 2, V6_SRC: 3, V6_DST: 4 } as const;
export const CTA_PROTO = { NUM: 1, SRC_PORT: 2, DST_PORT: 3 } as const;
/** CTA_STATS_GLOBAL_ENTRIES. */
const GLOBAL_ENTRIES = 1;
const CTA_FILTER = { ORIG_FLAGS: 1, REPLY_FLAGS: 2 } as const;
const CTA_FILTER_F_IP_SRC = 1;

/** IPS_*, big-endian in CTA_STATUS (`linux/netfilter/nf_conntrack_common.h`). */
export const IPS = { EXPECTED: 1, SEEN_REPLY: 2, CONFIRMED: 8 } as const;

const HEADER = 4;

/**
 * Reads a connection; undefined if it is not `wanted`. There may be a hundred thousand, so each is read in place, and
 * objects are made only for the wanted ones.
 */
export function readConnection(
  { attributes, nfproto }: Message,
  wanted: (flow: Flow) => boolean,
): Connection | undefined {
  const original = find(attributes, CTA.TUPLE_ORIG);
  const reply = find(attributes, CTA.TUPLE_REPLY);
  if (original === undefined || reply === undefined) return undefined;
  const opened = find(original, CTA_TUPLE.IP)!;
  const from = tupleAddress(opened, SOURCE);
  const to = tupleAddress(find(reply, CTA_TUPLE.IP)!, SOURCE); // after DNAT: the address that answers
  const dialled = tupleAddress(opened, DESTINATION);
  const answering = find(reply, CTA_TUPLE.PROTO)!;
  const protocol = protocolOf(find(answering, CTA_PROTO.NUM)!);
  const port = portOf(find(answering, CTA_PROTO.SRC_PORT));
  const flow: Flow = {
    from,
    to,
    protocol,
    ...(port !== undefined && { port }),
    ...(dialled !== to && { viaService: true }),
  };
  if (!wanted(flow)) return undefined;
  const sourcePort = portOf(find(find(original, CTA_TUPLE.PROTO)!, CTA_PROTO.SRC_PORT));
  return {
    flow,
    ...(sourcePort !== undefined && { sourcePort }),
    ...(dialled !== to && { dialled }),
    ...(isUnreplied(find(attributes, CTA.STATUS)) && { unreplied: true }),
    handle: handleOf(nfproto, [original, find(attributes, CTA.ZONE), find(attributes, CTA.ID)]),
  };
}

/**
 * `ct state` calls the next packet new only if the connection is neither replied to nor expected (resolve_normal_ct).
 */
function isUnreplied(status: Span | undefined): boolean {
  return status !== undefined && (status.bytes[status.end - 1]! & (IPS.SEEN_REPLY | IPS.EXPECTED)) === 0;
}

/** The first attribute of a type. */
export function find({ bytes, start, end }: Span, type: number): Span | undefined {
  for (let at = start; at + HEADER <= end; ) {
    const size = bytes[at]! | (bytes[at + 1]! << 8);
    if (size < HEADER || at + size > end) throw new RangeError(`netlink attribute of ${size} bytes at ${at}`);
    if ((bytes[at + 2]! | ((bytes[at + 3]! & NLA_TYPE_HIGH) << 8)) === type)
      return { bytes, start: at + HEADER, end: at + size };
    at += align(size);
  }
  return undefined;
}

// The two upper bits are flags.
const NLA_TYPE_HIGH = 0x3f;

/** The attributes of an end in both families, for `tupleAddress`. */
export const SOURCE = [CTA_IP.V4_SRC, CTA_IP.V6_SRC] as const;
export const DESTINATION = [CTA_IP.V4_DST, CTA_IP.V6_DST] as const;

/** The address of a CTA_TUPLE_IP. */
export function tupleAddress(ip: Span, [v4, v6]: readonly [number, number]): Address {
  const ofIpv4 = find(ip, v4);
  if (ofIpv4 !== undefined) return ipv4Text(readU32(ofIpv4));
  const { bytes, start, end } = find(ip, v6)!;
  const key = bytes.toString('latin1', start, end);
  const known = ipv6Texts.get(key);
  if (known !== undefined) return known;
  if (ipv6Texts.size >= MOST_TEXTS) ipv6Texts.clear();
  const text = addressFromBytes(bytes.subarray(start, end));
  ipv6Texts.set(key, text);
  return text;
}

// Texts of addresses are cached, because a few addresses occur in very many connections.
const ipv6Texts = new Map<string, Address>();
const MOST_TEXTS = 10_000;

// Each has one place, and the last one that has come there: to look takes no memory, however many others there are.
const PLACE_BITS = 14;
const words = new Uint32Array(1 << PLACE_BITS);
const ipv4Texts: (Address | undefined)[] = Array.from({ length: words.length }, () => undefined);

function ipv4Text(word: number): Address {
  const place = slotOf(word, PLACE_BITS);
  const known = ipv4Texts[place];
  if (known !== undefined && words[place] === word) return known;
  // Joined at once: a text that grows is kept as its parts.
  const text = [word >>> 24, (word >>> 16) & 255, (word >>> 8) & 255, word & 255].join('.') as Address;
  words[place] = word;
  ipv4Texts[place] = text;
  return text;
}

export function protocolOf({ bytes, start }: Span): FlowProtocol {
  return flowProtocol(bytes[start]!);
}

export function portOf(span: Span | undefined): number | undefined {
  return span === undefined ? undefined : (span.bytes[span.start]! << 8) | span.bytes[span.start + 1]!;
}

/** The family in one byte and three of zero, then the attributes just as the kernel wrote them. */
function handleOf(nfproto: number, spans: readonly (Span | undefined)[]): Uint8Array {
  const present = spans.filter(span => span !== undefined);
  const handle = new Uint8Array(HEADER + present.reduce((sum, span) => sum + HEADER + sizeOf(span), 0));
  handle[0] = nfproto;
  let at = HEADER;
  for (const { bytes, start, end } of present) {
    handle.set(bytes.subarray(start - HEADER, end), at);
    at += HEADER + align(end - start);
  }
  return handle;
}

function sizeOf({ start, end }: Span): number {
  return align(end - start);
}

/** Asks how many connections there are. */
export function writeCount(to: AttributeWriter, sequence: number): void {
  endMessage(to, beginMessage(to, CT_MSG.GET_STATS, NLM_F.REQUEST, sequence, 0));
}

/** The answer to it; undefined where the message is another. */
export function readCount({ type, attributes }: Message): number | undefined {
  const entries = type === CT_MSG.GET_STATS ? find(attributes, GLOBAL_ENTRIES) : undefined;
  return entries && readU32(entries);
}

/** A message about the connection with this handle. */
export function writeHandleMessage(
  to: AttributeWriter,
  type: number,
  flags: number,
  sequence: number,
  handle: Uint8Array,
): void {
  const start = beginMessage(to, type, NLM_F.REQUEST | flags, sequence, handle[0]!);
  const size = handle.length - HEADER;
  to.reserve(size);
  const at = to.zeros(size);
  to.buffer.set(handle.subarray(HEADER), at);
  endMessage(to, start);
}

/**
 * A source or destination of connections, as policy sees it. For IPv4 only: with an IPv6 address the kernel dumps the
 * connections that do not have it (ctnetlink_filter_match_tuple, up to 6.18 at least).
 */
interface ConnectionEnd {
  readonly address: Address;
  readonly role: 'opens' | 'answers';
}

/** The connections to dump: all, those of a family, or those with such a source or destination. */
export type DumpFilter = 'all' | Family | ConnectionEnd;

/** Kernels before 5.8 ignore a choice of an end. */
export function writeDump(to: AttributeWriter, sequence: number, choice: DumpFilter): void {
  const start = beginMessage(to, CT_MSG.GET, NLM_F.REQUEST | NLM_F.DUMP, sequence, nfprotoOf(choice));
  if (typeof choice === 'object') writeFilter(to, choice);
  endMessage(to, start);
}

function nfprotoOf(choice: DumpFilter): number {
  if (choice === 'all') return 0;
  return NFPROTO[typeof choice === 'object' ? familyOf(choice.address) : choice];
}

function writeFilter(to: AttributeWriter, { address: source, role }: ConnectionEnd): void {
  if (familyOf(source) === 'ip6') throw new TypeError('kernels choose wrongly by IPv6 addresses');
  const [tuple, flags] =
    role === 'opens' ? [CTA.TUPLE_ORIG, CTA_FILTER.ORIG_FLAGS] : [CTA.TUPLE_REPLY, CTA_FILTER.REPLY_FLAGS];
  to.nest(tuple, () =>
    to.nest(CTA_TUPLE.IP, () => to.hex(CTA_IP.V4_SRC, Buffer.from(addressBytes(source)).toString('hex'))),
  );
  to.nest(CTA.FILTER, () => to.hex(flags, HOST_ENDIAN_IP_SRC));
}

/**
 * Writes a dump request with a meaningless flag, and for a family without connections, for which the kernel ignores the
 * flag.
 */
export function writeSenselessDump(to: AttributeWriter, sequence: number): void {
  const start = beginMessage(to, CT_MSG.GET, NLM_F.REQUEST | NLM_F.DUMP, sequence, NFPROTO_INET);
  to.nest(CTA.FILTER, () => to.hex(CTA_FILTER.ORIG_FLAGS, '00000080'));
  endMessage(to, start);
}

// A family of rules; connections are of IPv4 or IPv6.
const NFPROTO_INET = 1;

// Host-endian, unlike the rest of ctnetlink.
const HOST_ENDIAN_IP_SRC = `0${CTA_FILTER_F_IP_SRC}000000`;
