/**
 * Reads a DNS response: which addresses it tells for which names. Never throws, and takes time in the message's length
 * alone, whatever the bytes: they come from whoever runs the zone.
 */

import { word } from '../lib/text/words.ts';
import { type Address, addressFromBytes } from '../model/address.ts';
import { METADATA_SERVICES } from '../model/metadataservices.ts';
import { readDomainName } from './name.ts';
import { MOST_RECORDS, type Records, readRecords, TYPE } from './records.ts';

export interface DnsAnswer {
  /** The name asked for, and every alias on the way to the addresses (C42). */
  readonly names: readonly string[];
  readonly addresses: readonly AnswerAddress[];
}

interface AnswerAddress {
  readonly address: Address;
  /** The least of its own and of the aliases that lead to it. */
  readonly ttlSeconds: number;
}

const MOST_ALIASES = 16;
const HEADER = 12;
/** An owner's name of one byte, type, class, TTL, length. */
const LEAST_RECORD = 11;
/** QR, opcode, RCODE; RFC 1035 4.1.1. */
const RESPONSE = { mask: 0xf80f, value: 0x8000 } as const;
const TRUNCATED = 0x0200;
const CLASS_IN = 1;

/** Undefined where it is no answer to one question for addresses, or cannot be read: nothing is learnt from it. */
export function readAnswer(message: Uint8Array): DnsAnswer | undefined {
  if (message.length < HEADER) return undefined;
  const flags = word(message, 2);
  if ((flags & RESPONSE.mask) !== RESPONSE.value || word(message, 4) !== 1) return undefined;
  const question = readQuestion(message);
  if (question === undefined) return undefined;
  const { asked, type } = question;
  const records = readRecords(message, asked, word(message, 6), type, (flags & TRUNCATED) !== 0);
  return records && answerFrom(asked.name, records);
}

/** How many records have to be looked at to read it, at most. */
export function mostRecordsOf(message: Uint8Array): number {
  return Math.min(word(message, 6), MOST_RECORDS, Math.floor(message.length / LEAST_RECORD));
}

function readQuestion(message: Uint8Array) {
  const asked = readDomainName(message, HEADER);
  if (asked === undefined || asked.end + 4 > message.length) return undefined;
  const type = word(message, asked.end);
  if ((type !== TYPE.A && type !== TYPE.AAAA) || word(message, asked.end + 2) !== CLASS_IN) return undefined;
  return { asked: { name: asked.name, start: HEADER, end: asked.end + 4 }, type };
}

/** The order of the records is nobody's promise: the way is followed, and what is off it does not count. */
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
 * Addresses that are never learnt, whoever tells them (C56): no peer has them, or they are the node's own business, as
 * the clouds' metadata services are. Private ones are learnt: they are what a name inside may mean.
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
  // 64:ff9b::/96 leads to an IPv4 address beyond a translator (RFC 6052).
  const isTranslated = NAT64.every((byte, i) => bytes[i] === byte);
  return !isTranslated || isLearnableV4(bytes, 12);
}

const NAT64 = [0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0];

/** By their first byte, since most addresses are no such thing. */
function isMetadataV4(bytes: Uint8Array, at: number): boolean {
  const a = bytes[at]!;
  return (
    (a === 100 || a === 168 || a === 192) &&
    METADATA_SERVICES.has(addressFromBytes(bytes.subarray(at, at + 4)))
  );
}
