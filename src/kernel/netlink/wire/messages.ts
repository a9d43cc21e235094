/** `struct nlmsghdr` (16 bytes, host-endian) and, for netfilter, `struct nfgenmsg` (4 bytes) before the attributes. */
import { type AttributeWriter, align, readAttributes, readString, type Span } from './attributes.ts';
import { NLM_F, NLMSG, NLMSGERR_ATTR } from './constants.ts';

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
  /** The bytes after the nlmsghdr. */
  readonly payload: Span;
  /** The bytes after the nfgenmsg. */
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

const ERRNO = 4;

/** The kernel's answer to a message: `struct nlmsgerr`, followed by extended-ack attributes. */
export interface Reply {
  readonly sequence: number;
  /** 0 is an acknowledgement. */
  readonly errno: number;
  /** The kernel's own words, where it has some. */
  readonly text?: string;
  /** The offset of the refused attribute, from the start of the message. */
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
