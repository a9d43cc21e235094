/** A name in a DNS message (RFC 1035 4.1.4): labels, or a pointer to where the rest of them was before. */

/** Of a name in its message, every length octet counted. */
const MOST_BYTES = 255;
const MOST_LABEL = 63;
/** A name has at most 127 labels, and no label needs two: else a few bytes take a message's length each time they are read. */
const MOST_POINTERS = 127;
const POINTER = 0xc0;
const DOT = 0x2e;

export interface ReadName {
  /** In lower case, without the dot at the end; of the root, empty. */
  readonly name: string;
  /** Where what follows the name begins. */
  readonly end: number;
}

/**
 * Undefined where the bytes are no name, or one that no policy could mean: a label with a dot in it would pass for two.
 * Pointers lead back only, so that there are no loops, and no further than a name has labels.
 */
export function readDomainName(message: Uint8Array, start: number): ReadName | undefined {
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

/** At the end of the message, nowhere: never before where it stands. */
function pointedTo(message: Uint8Array, at: number): number {
  const low = message[at + 1];
  return low === undefined ? message.length : ((message[at]! & ~POINTER) << 8) | low;
}

/** Appends its letters; answers whether it could be read. */
function readLabel(message: Uint8Array, start: number, length: number, codes: number[]): boolean {
  if (start + length > message.length) return false;
  for (let at = start; at < start + length; at++) {
    const code = message[at]!;
    if (code === DOT || code <= 0x20 || code >= 0x7f) return false;
    codes.push(code >= 0x41 && code <= 0x5a ? code + 32 : code);
  }
  return true;
}
