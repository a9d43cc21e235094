/** Any other IP protocol: a few bytes of our own in its place. */
import type { Dialogue } from './raw.ts';

const QUESTION = 1;
const ANSWER = 2;

export function otherDialogue(protocol: number): Dialogue {
  return {
    protocol,
    question: ({ id }) => message(QUESTION, id),
    read: payload => {
      if (payload.length !== LENGTH) return undefined;
      const id = payload.readUInt32BE(8);
      if (payload[7] === ANSWER) return { kind: 'answer', id };
      return payload[7] === QUESTION ? { kind: 'question', answer: message(ANSWER, id) } : undefined;
    },
  };
}

// Four zero bytes first: conntrack reads them as the header of GRE, version 0.
const LENGTH = 12;

function message(kind: number, id: number): Uint8Array {
  const bytes = Buffer.alloc(LENGTH);
  bytes[7] = kind;
  bytes.writeUInt32BE(id, 8);
  return bytes;
}
