/**
 * Parses a DNS response: which addresses it has for which names. The bytes come from the owner of the zone, who may be
 * hostile: it never throws, and takes time linear in the length of the message.
 */

import { readUint16, readUint32 } from '../lib/text/words.ts';
import { type Address, addressFromBytes } from '../model/address.ts';
import { METADATA_SERVICES } from '../model/metadataservices.ts';

export interface DnsAnswer {
  /** The name of the question, and every alias on the way to the addresses (C42). */
  readonly names: readonly string[];
  readonly addresses: readonly AnswerAddress[];
}

interface AnswerAddress {
  readonly address: Address;
  /** The least TTL of the record and of the aliases that lead to it. */
  readonly ttlSeconds: number;
}

const MOST_ALIASES = 16;
const HEADER = 12;
/** An owner name of one byte, type, class, TTL and length. */
const LEAST_RECORD = 11;
/** The bits of QR, opcode and RCODE in the header of a successful response (RFC 1035 4.1.1). */
const RESPONSE = { mask: 0xf80f, value: 0x8000 } as const;
const TRUNCATED = 0x0200;
const CLASS_IN = 1;

/** Undefined if it is not an answer to one question for addresses, or cannot be parsed: then nothing is learnt. */
export function readAnswer(message: Uint8Array): DnsAnswer | undefined {
  if (message.length < HEADER) return undefined;
  const flags = readUint16(message, 2);
  if ((flags & RESPONSE.mask) !== RESPONSE.value || readUint16(message, 4) !== 1) return undefined;
  const question = readQuestion(message);
  if (question === undefined) return undefined;
  const { asked, type } = question;
  const records = readRecords(message, asked, readUint16(message, 6), type, (flags & TRUNCATED) !== 0);
  return records && answerFrom(asked.name, records);
}

/** How many records have to be looked at to parse it, at most. */
export function mostRecordsOf(message: Uint8Array): number {
  return Math.min(readUint16(message, 6), MOST_RECORDS, Math.floor(message.length / LEAST_RECORD));
}

function readQuestion(message: Uint8Array) {
  const asked = readDomainName(message, HEADER);
  if (asked === undefined || asked.end + 4 > message.length) return undefined;
  const type = readUint16(message, asked.end);
  if ((type !== TYPE.A && type !== TYPE.AAAA) || readUint16(message, asked.end + 2) !== CLASS_IN)
    return undefined;
  return { asked: { name: asked.name, start: HEADER, end: asked.end + 4 }, type };
}

/** Records may come in any order: aliases are followed from the question, and other records are ignored. */
function answerFrom(question: string, { aliases, addresses }: Records): DnsAnswer {
  const names = [question];
  let owner = question;
  let leastTtl = Number.POSITIVE_INFINITY;
  for (let alias = aliases.get(owner); alias !== undefined; alias = aliases.get(owner)) {
    if (names.includes(alias.target) || names.length > MOST_ALIASES) return { names, addresses: [] };
    owner = alias.target;
    leastTtl = Math.min(leastTtl, alias.ttlSeconds);
    names.push(owner);
  }
  const read = addresses
    .filter(record => record.owner === owner && isLearnable(record.bytes))
    .map(({ bytes, ttlSeconds }) => ({
      address: addressFromBytes(bytes),
      ttlSeconds: Math.min(ttlSeconds, leastTtl),
    }));
  return { names, addresses: read };
}

/**
 * Addresses that are never learnt from an answer (C56): no peer can have them, or they belong to the node itself, such
 * as the clouds' metadata services. Private addresses are learnt, because internal names have them.
 */
export function isLearnable(bytes: Uint8Array): boolean {
  return bytes.length === 4 ? isLearnableV4(bytes, 0) : isLearnableV6(bytes);
}

function isLearnableV4(bytes: Uint8Array, at: number): boolean {
  const [a, b] = [bytes[at]!, bytes[at + 1]!];
  const isUnspecified = a === 0;
  const isLoopback = a === 127;
  const isLinkLocal = a === 169 && b === 254;
  const isMulticastOrReserved = a >= 224;
  return !(isUnspecified || isLoopback || isLinkLocal || isMulticastOrReserved || isMetadataV4(bytes, at));
}

function isLearnableV6(bytes: Uint8Array): boolean {
  const [a, b] = [bytes[0]!, bytes[1]!];
  if (a === 0xff || (a === 0xfe && (b & 0xc0) === 0x80)) return false; // multicast, link-local
  if (bytes.subarray(0, 10).every(byte => byte === 0)) return false; // ::, ::1, and IPv4 in every old form
  if (a === 0xfd && METADATA_SERVICES.has(addressFromBytes(bytes))) return false;
  // 64:ff9b::/96: a translator (NAT64) sends the packet to an IPv4 address (RFC 6052).
  const isTranslated = NAT64.every((byte, i) => bytes[i] === byte);
  return !isTranslated || isLearnableV4(bytes, 12);
}

const NAT64 = [0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0];

/** Indexed by the first byte, because most addresses are none of these. */
function isMetadataV4(bytes: Uint8Array, at: number): boolean {
  const a = bytes[at]!;
  return (
    (a === 100 || a === 168 || a === 192) &&
    METADATA_SERVICES.has(addressFromBytes(bytes.subarray(at, at + 4)))
  );
}

// A name in a DNS message (RFC 1035 4.1.4): labels, or a pointer to an earlier place where the rest of the labels is.

/** The longest name in a message, including its length bytes. */
const MOST_BYTES = 255;
const MOST_LABEL = 63;
/**
 * A name has at most 127 labels, and none needs two pointers. Without a limit, a few bytes could take as long as the
 * message each time they are read.
 */
const MOST_POINTERS = 127;
const POINTER = 0xc0;
const DOT = 0x2e;

interface ReadName {
  /** In lower case, without the final dot; empty for the root. */
  readonly name: string;
  /** The offset of the first byte behind the name. */
  readonly end: number;
}

/**
 * Undefined if the bytes are not a name, or one that no policy can have: a label that contains a dot would look like
 * two. Pointers lead backwards only, so that there are no loops, and at most as often as a name has labels.
 */
function readDomainName(message: Uint8Array, start: number): ReadName | undefined {
  const codes: number[] = [];
  let end = -1;
  let left = MOST_BYTES;
  for (let at = start, before = start, pointers = 0; ; ) {
    const length = message[at];
    if (length === undefined) return undefined;
    if (length === 0) return { name: String.fromCharCode(...codes), end: end < 0 ? at + 1 : end };
    if ((length & POINTER) === POINTER) {
      if (end < 0) end = at + 2;
      at = pointedTo(message, at);
      if (at >= before || ++pointers > MOST_POINTERS) return undefined;
      before = at;
      continue;
    }
    left -= length + 1;
    if (length > MOST_LABEL || left < 1) return undefined;
    if (codes.length > 0) codes.push(DOT);
    if (!readLabel(message, at + 1, length, codes)) return undefined;
    at += length + 1;
  }
}

/** The offset to which a pointer leads; undefined at the end of the message, or if it does not lead backwards. */
function pointedTo(message: Uint8Array, at: number): number {
  const low = message[at + 1];
  return low === undefined ? message.length : ((message[at]! & ~POINTER) << 8) | low;
}

/** Appends the label's letters. Returns whether it could be read. */
function readLabel(message: Uint8Array, start: number, length: number, codes: number[]): boolean {
  if (start + length > message.length) return false;
  for (let at = start; at < start + length; at++) {
    const code = message[at]!;
    if (code === DOT || code <= 0x20 || code >= 0x7f) return false;
    codes.push(code >= 0x41 && code <= 0x5a ? code + 32 : code);
  }
  return true;
}

// The answer section of a DNS response: addresses and aliases only.

const TYPE = { A: 1, CNAME: 5, AAAA: 28 } as const;
/** The two highest bits of a two-byte pointer to an earlier name. */
const POINTER_WORD = 0xc000;

/** The most records that are read; further ones are ignored. */
const MOST_RECORDS = 512;

interface AddressRecord {
  readonly owner: string;
  /** The address as 4 or 16 bytes. */
  readonly bytes: Uint8Array;
  readonly ttlSeconds: number;
}

interface Alias {
  readonly target: string;
  readonly ttlSeconds: number;
}

interface Records {
  readonly addresses: readonly AddressRecord[];
  /** Aliases by owner name; the first of several with the same owner. */
  readonly aliases: ReadonlyMap<string, Alias>;
}

interface Found {
  readonly addresses: AddressRecord[];
  readonly aliases: Map<string, Alias>;
}

/** The name of the question, its offset, and the offset of the first record. */
interface AskedName {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/**
 * Of a truncated message, the records that are complete. Of another message, undefined if a record is incomplete or has
 * a name that cannot be read: then nothing of it is trusted.
 */
function readRecords(
  message: Uint8Array,
  asked: AskedName,
  count: number,
  type: number,
  truncated: boolean,
): Records | undefined {
  const found: Found = { addresses: [], aliases: new Map() };
  let at = asked.end;
  for (let i = 0; i < Math.min(count, MOST_RECORDS); i++) {
    const owner = readOwner(message, at, asked);
    const end = owner && readRecord(message, owner, type, found);
    if (end === undefined) return truncated ? found : undefined;
    at = end;
  }
  return found;
}

/** Mostly a pointer to the name of the question, which has been read already. */
function readOwner(
  message: Uint8Array,
  start: number,
  { name, start: askedAt }: AskedName,
): ReadName | undefined {
  const isAsked = readUint16(message, start) === (POINTER_WORD | askedAt);
  return isAsked ? { name, end: start + 2 } : readDomainName(message, start);
}

/** Returns the offset of the next record. */
function readRecord(message: Uint8Array, owner: ReadName, type: number, found: Found): number | undefined {
  if (owner.end + 10 > message.length) return undefined;
  const recordType = readUint16(message, owner.end);
  const length = readUint16(message, owner.end + 8);
  const data = owner.end + 10;
  if (data + length > message.length) return undefined;
  if (readUint16(message, owner.end + 2) !== CLASS_IN) return data + length;
  const ttlSeconds = ttlOf(readUint32(message, owner.end + 4));
  if (recordType === TYPE.CNAME) {
    const target = readDomainName(message, data);
    if (target === undefined || target.end !== data + length) return undefined;
    if (!found.aliases.has(owner.name)) found.aliases.set(owner.name, { target: target.name, ttlSeconds });
  } else if (recordType === type) {
    if (length !== (type === TYPE.A ? 4 : 16)) return undefined;
    found.addresses.push({ owner: owner.name, bytes: message.slice(data, data + length), ttlSeconds });
  }
  return data + length;
}

/** RFC 2181 8: a TTL with the highest bit set counts as zero. */
function ttlOf(value: number): number {
  return value > 0x7fffffff ? 0 : value;
}
