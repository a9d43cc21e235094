/** `struct nlmsghdr` (16 bytes, host-endian) and, for netfilter, `struct nfgenmsg` (4 bytes) before the attributes. */
import type { AttributeWriter, Span } from './attributes.ts';
import { align } from './attributes.ts';

export const MESSAGE_HEADER = 16;
export const NFGEN_HEADER = 4;

/** Begins a message; the answer is for `endMessage`. `resource` is nfgenmsg.res_id. */
export function beginMessage(
  to: AttributeWriter,
  type: number,
  flags: number,
  sequence: number,
  nfproto: number,
  resource = 0,
): number {
  const start = to.length;
  to.reserve(MESSAGE_HEADER + NFGEN_HEADER);
  to.word(0);
  to.word((flags << 16) | type);
  to.word(sequence);
  to.word(0); // nlmsg_pid: the kernel knows the socket
  // nfgen_family, version NFNETLINK_V0, res_id big-endian
  to.word(nfproto | ((resource & 0xff) << 24) | ((resource & 0xff00) << 8));
  return start;
}

export function endMessage(to: AttributeWriter, start: number): void {
  to.patch(start, to.length - start);
}

export interface Message {
  readonly type: number;
  readonly flags: number;
  readonly sequence: number;
  /** nlmsg_pid: of an answer the number of our own socket. */
  readonly port: number;
  /** nfgen_family; of no meaning in control messages. */
  readonly nfproto: number;
  /** Behind the nlmsghdr. */
  readonly payload: Span;
  /** Behind the nfgenmsg. */
  readonly attributes: Span;
}

/** The messages of a datagram of `length` bytes. */
export function* readMessages(bytes: Buffer, length: number): Generator<Message> {
  for (let at = 0; at + MESSAGE_HEADER <= length; ) {
    const size = bytes.readUInt32LE(at);
    if (size < MESSAGE_HEADER || at + size > length)
      throw new RangeError(`netlink message of ${size} bytes at ${at} of ${length}`);
    yield readMessage(bytes, at, at + size);
    at += align(size);
  }
}

function readMessage(bytes: Buffer, at: number, end: number): Message {
  const start = at + MESSAGE_HEADER;
  return {
    type: bytes.readUInt16LE(at + 4),
    flags: bytes.readUInt16LE(at + 6),
    sequence: bytes.readUInt32LE(at + 8),
    port: bytes.readUInt32LE(at + 12),
    nfproto: start < end ? bytes[start]! : 0,
    payload: { bytes, start, end },
    attributes: { bytes, start: Math.min(start + NFGEN_HEADER, end), end },
  };
}
