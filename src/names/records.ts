/** The answer section of a DNS response, as far as addresses and aliases go. */
import { readDomainName } from './name.ts';

export const TYPE = { A: 1, CNAME: 5, AAAA: 28 } as const;
const CLASS_IN = 1;

/** What more records say is not read. */
export const MOST_RECORDS = 512;

export interface AddressRecord {
  readonly owner: string;
  /** 4 or 16. */
  readonly bytes: Uint8Array;
  readonly ttlSeconds: number;
}

export interface Alias {
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

/**
 * Of a message that was `truncated`, as many as are whole; else undefined where one is not, or has a name that cannot
 * be read: who sends such a message is believed in nothing.
 */
export function readRecords(
  message: Uint8Array,
  start: number,
  count: number,
  type: number,
  truncated: boolean,
): Records | undefined {
  const found: Found = { addresses: [], aliases: new Map() };
  let at = start;
  for (let i = 0; i < Math.min(count, MOST_RECORDS); i++) {
    const end = readRecord(message, at, type, found);
    if (end === undefined) return truncated ? found : undefined;
    at = end;
  }
  return found;
}

/** Where the next one begins. */
function readRecord(message: Uint8Array, start: number, type: number, found: Found): number | undefined {
  const owner = readDomainName(message, start);
  if (owner === undefined || owner.end + 10 > message.length) return undefined;
  const view = new DataView(message.buffer, message.byteOffset + owner.end, 10);
  const [recordType, recordClass, length] = [view.getUint16(0), view.getUint16(2), view.getUint16(8)];
  const data = owner.end + 10;
  if (data + length > message.length) return undefined;
  if (recordClass !== CLASS_IN) return data + length;
  const ttlSeconds = ttlOf(view.getUint32(4));
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
