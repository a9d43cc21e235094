/** What the kernel answers to a message: `struct nlmsgerr`, with extended-ack attributes behind it. */

import { readAttributes, readString } from './attributes.ts';
import { NLM_F, NLMSG, NLMSGERR_ATTR } from './constants.ts';
import { MESSAGE_HEADER, type Message } from './messages.ts';

const ERRNO = 4;

export interface Reply {
  readonly sequence: number;
  /** 0 is an acknowledgement. */
  readonly errno: number;
  /** The kernel's own words, where it has some. */
  readonly text?: string;
  /** Where the attribute that it refused begins, from the start of the message. */
  readonly offset?: number;
}

/** Undefined for a message that is not an NLMSG_ERROR, or the NLMSG_DONE of a dump that failed. */
export function readReply({ type, flags, sequence, payload }: Message): Reply | undefined {
  if (type === NLMSG.DONE) return doneWith(sequence, payload.bytes.readInt32LE(payload.start));
  if (type !== NLMSG.ERROR) return undefined;
  const { bytes, start, end } = payload;
  const errno = Math.abs(bytes.readInt32LE(start)); // negative in the message
  if ((flags & NLM_F.ACK_TLVS) === 0) return { sequence, errno };
  const quoted = (flags & NLM_F.CAPPED) !== 0 ? MESSAGE_HEADER : bytes.readUInt32LE(start + ERRNO);
  const attributes = readAttributes({ bytes, start: start + ERRNO + quoted, end });
  const text = attributes.get(NLMSGERR_ATTR.MSG);
  const offset = attributes.get(NLMSGERR_ATTR.OFFS);
  return {
    sequence,
    errno,
    ...(text && { text: readString(text) }),
    ...(offset && { offset: bytes.readUInt32LE(offset.start) }), // host-endian, unlike nf_tables' own
  };
}

/** Whether a datagram begins with the acknowledgement of message `sequence`: the one answer that is read often. */
export function isAcknowledgement(words: Uint32Array, sequence: number): boolean {
  return (words[1]! & 0xffff) === NLMSG.ERROR && words[2] === sequence && words[4] === 0;
}

function doneWith(sequence: number, status: number): Reply | undefined {
  return status < 0 ? { sequence, errno: -status } : undefined;
}
