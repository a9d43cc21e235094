/** The answer section of a DNS response, as far as addresses and aliases go. */

import { longWord, word } from '../lib/text/words.ts';
import { type ReadName, readDomainName } from './name.ts';

export const TYPE = { A: 1, CNAME: 5, AAAA: 28 } as const;
const CLASS_IN = 1;
/** Its two highest bits, of two bytes. */
const POINTER = 0xc000;

/** What more records say is not read. */
export const MOST_RECORDS = 512;

interface AddressRecord {
  readonly owner: string;
  /** 4 or 16. */
  readonly bytes: Uint8Array;
  readonly ttlSeconds: number;
}

interface Alias {
  readonly target: string;
  readonly ttlSeconds: number;
}

export interface Records {
  readonly addresses: readonly AddressRecord[];
  /** By owner; of several of one owner the first. */
  readonly aliases: ReadonlyMap<string, Alias>;
}

interface Found {
  readonly addresses: AddressRecord[];
  readonly aliases: Map<string, Alias>;
}

/** The name asked for, where it is, and where the records begin. */
export interface AskedName {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/**
 * Of a message that was `truncated`, as many as are whole; else undefined where one is not, or has a name that cannot
 * be read: who sends such a message is believed in nothing.
 */
export function readRecords(
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

/** Mostly a pointer to the name asked for, which has been read. */
function readOwner(
  message: Uint8Array,
  start: number,
  { name, start: askedAt }: AskedName,
): ReadName | undefined {
  const isAsked = word(message, start) === (POINTER | askedAt);
  return isAsked ? { name, end: start + 2 } : readDomainName(message, start);
}

/** Where the next one begins. */
function readRecord(message: Uint8Array, owner: ReadName, type: number, found: Found): number | undefined {
  if (owner.end + 10 > message.length) return undefined;
  const recordType = word(message, owner.end);
  const length = word(message, owner.end + 8);
  const data = owner.end + 10;
  if (data + length > message.length) return undefined;
  if (word(message, owner.end + 2) !== CLASS_IN) return data + length;
  const ttlSeconds = ttlOf(longWord(message, owner.end + 4));
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

/** RFC 2181 8: with the highest bit it is zero. */
function ttlOf(value: number): number {
  return value > 0x7fffffff ? 0 : value;
}
