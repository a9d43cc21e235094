/**
 * Elements of an interval set: the kernel holds two for each, its first value and, flagged INTERVAL_END, the value
 * behind its last. An interval that reaches to the end of all values has no second one.
 */
import { FIELD_BYTES } from '../../../nft/fieldbytes.ts';
import type { ElementKey, FieldType } from '../../../nft/ruleset.ts';
import { readField, writeField } from './fields.ts';

export interface IntervalBytes {
  readonly first: Uint8Array;
  /** Behind the last value; undefined where there is nothing behind it. */
  readonly end: Uint8Array | undefined;
}

/** `10.0.0.0/8`, `10.0.0.0-10.0.0.9`, `80`, `80-90`. */
export function intervalBytes(type: FieldType, text: ElementKey): IntervalBytes {
  const slash = text.indexOf('/');
  const dash = text.indexOf('-');
  const first = fieldBytes(
    type,
    slash !== -1 ? text.slice(0, slash) : dash !== -1 ? text.slice(0, dash) : text,
  );
  if (slash !== -1) return { first, end: after(lastOfNetwork(first, Number(text.slice(slash + 1)), text)) };
  const last = dash === -1 ? first : fieldBytes(type, text.slice(dash + 1));
  if (Buffer.compare(first, last) > 0) throw new RangeError(`set element "${text}": the range is empty`);
  return { first, end: after(last) };
}

/** The canonical text: of addresses a network wherever the interval is one, of ports and protocols never. */
export function intervalText(type: FieldType, { first, end }: IntervalBytes): ElementKey {
  const last = before(end ?? new Uint8Array(first.length));
  const prefix = type === 'ipv4_addr' || type === 'ipv6_addr' ? networkPrefix(first, last) : undefined;
  if (prefix !== undefined) return `${readField(type, first, 0)}/${prefix}`;
  const single = Buffer.compare(first, last) === 0;
  return single ? readField(type, first, 0) : `${readField(type, first, 0)}-${readField(type, last, 0)}`;
}

function fieldBytes(type: FieldType, text: string): Uint8Array {
  const bytes = new Uint8Array(FIELD_BYTES[type]);
  writeField(type, text, 0, text.length, bytes, 0);
  return bytes;
}

function lastOfNetwork(first: Uint8Array, prefix: number, text: string): Uint8Array {
  if (!(prefix >= 0 && prefix <= first.length * 8))
    throw new RangeError(`set element "${text}": no such prefix`);
  return first.map((byte, i) => byte | (0xff >> clamp(prefix - 8 * i)));
}

/** Undefined where the interval is not all of one network. */
function networkPrefix(first: Uint8Array, last: Uint8Array): number | undefined {
  const bits = first.length * 8;
  let prefix = 0;
  while (prefix < bits && bit(first, prefix) === bit(last, prefix)) prefix++;
  for (let i = prefix; i < bits; i++) if (bit(first, i) === 1 || bit(last, i) === 0) return undefined;
  return prefix;
}

function bit(bytes: Uint8Array, index: number): number {
  return (bytes[index >> 3]! >> (7 - (index & 7))) & 1;
}

function clamp(bits: number): number {
  return Math.min(8, Math.max(0, bits));
}

function after(value: Uint8Array): Uint8Array | undefined {
  const next = Uint8Array.from(value);
  for (let i = next.length - 1; i >= 0; i--) {
    next[i]!++;
    if (next[i] !== 0) return next; // no carry
  }
  return undefined;
}

function before(value: Uint8Array): Uint8Array {
  const previous = Uint8Array.from(value);
  for (let i = previous.length - 1; i >= 0; i--) {
    previous[i]!--;
    if (previous[i] !== 0xff) return previous; // no borrow
  }
  return previous; // all ones: the last value of all, where there is nothing behind it
}
