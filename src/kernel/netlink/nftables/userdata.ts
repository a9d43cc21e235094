/** NFTA_*_USERDATA as nft writes it: type (u8), length (u8), value. */
import { MAX_COMMENT_BYTES } from '../../../nft/limits.ts';
import type { AttributeWriter, Span } from '../wire/attributes.ts';

export function writeComment(to: AttributeWriter, attribute: number, type: number, comment: string): void {
  const length = Buffer.byteLength(comment) + 1; // ended by NUL
  if (length > MAX_COMMENT_BYTES + 1) throw tooLong(comment);
  const at = to.blank(attribute, 2 + length);
  to.buffer[at] = type;
  to.buffer[at + 1] = length;
  to.buffer.write(comment, at + 2);
}

export type Userdata = readonly [type: number, value: Uint8Array];

/** Writes no attribute if there is no user data. */
export function writeUserdata(to: AttributeWriter, attribute: number, entries: readonly Userdata[]): void {
  const length = entries.reduce((sum, [, value]) => sum + 2 + value.length, 0);
  if (length === 0) return;
  let at = to.blank(attribute, length);
  for (const [type, value] of entries) {
    to.buffer.set([type, value.length], at);
    to.buffer.set(value, at + 2);
    at += 2 + value.length;
  }
}

export function commentUserdata(type: number, comment: string): Userdata {
  const value = Buffer.from(`${comment}\0`);
  if (value.length > MAX_COMMENT_BYTES + 1) throw tooLong(comment);
  return [type, value];
}

export function readComment({ bytes, start, end }: Span, type: number): string | undefined {
  for (let at = start; at + 2 <= end; at += 2 + bytes[at + 1]!) {
    const to = Math.min(at + 2 + bytes[at + 1]!, end);
    if (bytes[at] === type) return withoutNul(bytes.toString('utf8', at + 2, to));
  }
  return undefined;
}

function withoutNul(text: string): string {
  return text.endsWith('\0') ? text.slice(0, -1) : text;
}

function tooLong(comment: string): RangeError {
  return new RangeError(`comment "${comment}" is longer than ${MAX_COMMENT_BYTES} bytes`);
}
