/** Bytes in pieces as lines of text. */
import { Writable } from 'node:stream';

/** No line of ours is as long. */
const LONGEST = 1 << 20;

/** `broken`: a line without an end. */
export function linesTo(take: (line: string) => void, broken: () => void): Writable {
  const decoder = new TextDecoder();
  let begun = '';
  return new Writable({
    decodeStrings: true,
    write(chunk: Buffer, _, done) {
      const parts = (begun + decoder.decode(chunk, { stream: true })).split('\n');
      begun = parts.pop()!;
      for (const part of parts) take(part);
      if (begun.length > LONGEST) {
        begun = '';
        broken();
      }
      done();
    },
  });
}
