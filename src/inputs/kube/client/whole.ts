/** Where a value ends, however its bytes come in pieces. What is between its brackets is not looked at. */
import { garbled } from './garbled.ts';

/** Nobody nests deeper: the API server does not either. */
export const MOST_LEVELS = 10_000;

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_MAP, CLOSE_MAP, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d];

/** Of a value that is taken or left whole: what is open at this byte. */
export interface Whole {
  isKept: boolean;
  readonly start: number;
  depth: number;
  inText: boolean;
  isEscaped: boolean;
  hasBegun: boolean;
}

/** Where the value ends in this chunk: behind its last byte, or behind the chunk's. */
export function valueEnd(whole: Whole, chunk: Uint8Array, position: number): { at: number; isLast: boolean } {
  let { depth, inText, isEscaped, hasBegun } = whole;
  for (let at = position; at < chunk.length; at++) {
    const byte = chunk[at]!;
    if (inText) {
      if (isEscaped) isEscaped = false;
      else if (byte === BACKSLASH) isEscaped = true;
      else if (byte === QUOTE) {
        inText = false;
        if (depth === 0) return { at: at + 1, isLast: true };
      }
    } else if (byte === QUOTE) {
      if (depth === 0 && hasBegun) throw garbled();
      inText = true;
    } else if (byte === OPEN_MAP || byte === OPEN_LIST) {
      if (depth === 0 && hasBegun) throw garbled();
      if (++depth > MOST_LEVELS) throw garbled();
    } else if (byte === CLOSE_MAP || byte === CLOSE_LIST) {
      // A number or a word ends before what closes the value around it.
      if (depth === 0) return endOfWord(hasBegun, at);
      if (--depth === 0) return { at: at + 1, isLast: true };
    } else if (depth === 0 && (byte === COMMA || byte <= 0x20)) return endOfWord(hasBegun, at);
    hasBegun = true;
  }
  Object.assign(whole, { depth, inText, isEscaped, hasBegun });
  return { at: chunk.length, isLast: false };
}

function endOfWord(hasBegun: boolean, at: number): { at: number; isLast: boolean } {
  if (!hasBegun) throw garbled();
  return { at, isLast: true };
}
