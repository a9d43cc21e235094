/** The queue in which answers wait (nfnetlink_queue): packets in, verdicts out. The verdict is always to accept. */
import { AttributeWriter, eachAttribute } from '../../kernel/netlink/wire/attributes.ts';
import { errnoName, NLM_F, NLMSG } from '../../kernel/netlink/wire/constants.ts';
import {
  AF_NETLINK,
  close,
  EAGAIN,
  EINTR,
  ENOBUFS,
  errno,
  MSG_DONTWAIT,
  RAW,
  SO_RCVBUFFORCE,
  SOL_SOCKET,
  send,
  setsockopt,
  socket,
} from '../../kernel/netlink/wire/libc.ts';
import { beginMessage, endMessage, type Message, readMessages } from '../../kernel/netlink/wire/messages.ts';
import { check, type Fixed, fixed, recvmmsg } from './libc.ts';

const NETLINK_NETFILTER = 12;
const RECEIVE_BUFFER = 8 << 20;

// linux/netfilter/nfnetlink_queue.h.
const SUBSYSTEM = 3 << 8;
const MSG = { PACKET: SUBSYSTEM, VERDICT: SUBSYSTEM | 1, CONFIG: SUBSYSTEM | 2 } as const;
const CONFIG = { CMD: 1, PARAMS: 2, MAXLEN: 3, MASK: 4, FLAGS: 5 } as const;
const COMMAND_BIND = 1;
const COPY_PACKET = 2;
const MOST_COPIED = 0xffff;
const MOST_WAITING = 4_096;
/**
 * NFQA_CFG_F_FAIL_OPEN: packets for which there is no room are accepted; NFQA_CFG_F_GSO: large packets are not split.
 */
const FLAGS = 1 | 4;
const PACKET = { HEADER: 1, PAYLOAD: 10 } as const;
const VERDICT_HEADER = 2;
const NF_ACCEPT = 1;

/** A packet may be as long as IP has it, and the message is longer. */
const CHUNK = 68 << 10;
const MOST_AT_ONCE = 16;
const SO_RCVTIMEO = 20;
/** How long the next answer is waited for, at most. */
const WAIT_US = 10_000;

export interface WaitingPacket {
  readonly id: number;
  /** The packet from the IP header on, as a copy. */
  readonly bytes: Uint8Array;
}

export class QueueSocket {
  readonly fd: number;
  readonly #number: number;
  readonly #received = new Datagrams(MOST_AT_ONCE, CHUNK);
  readonly #verdict: Fixed;
  #verdictId = 0;
  /** Packets that arrived while the queue was being set up. */
  readonly #early: WaitingPacket[] = [];
  /** How often the kernel let packets go on because they were not read in time. */
  overruns = 0;

  /** Opens the queue in the network namespace of this thread. Throws where another program reads this number. */
  constructor(number: number) {
    this.#number = number;
    this.fd = check('netlink socket', socket(AF_NETLINK, RAW, NETLINK_NETFILTER));
    setsockopt(this.fd, SOL_SOCKET, SO_RCVBUFFORCE, [RECEIVE_BUFFER], 4);
    check('SO_RCVTIMEO', setsockopt(this.fd, SOL_SOCKET, SO_RCVTIMEO, [0, 0, WAIT_US, 0], 16));
    this.#verdict = this.#makeVerdict();
    try {
      this.#bind();
    } catch (error) {
      close(this.fd);
      throw error;
    }
  }

  /**
   * Visits the waiting packets, up to about `most` datagrams; returns how many datagrams there were. With `waits`, it
   * waits a while for the first.
   */
  read(most: number, visit: (packet: WaitingPacket) => void, waits = false): number {
    let count = this.#early.length;
    for (const packet of this.#early.splice(0)) visit(packet);
    for (let came = MOST_AT_ONCE; came === MOST_AT_ONCE && count < most; count += came) {
      came = this.#receive(waits && count === 0);
      for (let i = 0; i < came; i++) this.#visit(this.#received.bytes(i), this.#received.lengthOf(i), visit);
    }
    return count;
  }

  /** How many came. */
  #receive(waits: boolean): number {
    for (;;) {
      const came = this.#received.receive(this.fd, waits);
      if (came >= 0) return came;
      const code = errno();
      if (code === EAGAIN) return 0;
      if (code === ENOBUFS) this.overruns++;
      else if (code !== EINTR) throw new Error(`recvmmsg: ${errnoName(code)}`);
    }
  }

  #visit(bytes: Buffer, length: number, visit: (packet: WaitingPacket) => void): void {
    for (const message of readMessages(bytes, length)) {
      const packet = message.type === MSG.PACKET ? readWaiting(message) : undefined;
      if (packet !== undefined) visit(packet);
    }
  }

  accept(id: number): void {
    this.#verdict.bytes.writeUInt32BE(id, this.#verdictId);
    send(this.fd, this.#verdict.at, this.#verdict.bytes.length, 0);
  }

  close(): void {
    close(this.fd);
  }

  #makeVerdict(): Fixed {
    const to = new AttributeWriter();
    const start = beginMessage(to, MSG.VERDICT, NLM_F.REQUEST, 0, 0, this.#number);
    const at = to.blank(VERDICT_HEADER, 8);
    to.buffer.writeUInt32BE(NF_ACCEPT, at);
    endMessage(to, start);
    const made = fixed(to.length);
    made.bytes.set(to.written);
    this.#verdictId = at + 4;
    return made;
  }

  #bind(): void {
    this.#configure(to => to.buffer.set([COMMAND_BIND], to.blank(CONFIG.CMD, 4)));
    this.#configure(to => {
      const at = to.blank(CONFIG.PARAMS, 5);
      to.buffer.writeUInt32BE(MOST_COPIED, at);
      to.buffer[at + 4] = COPY_PACKET;
    });
    this.#configure(to => to.u32(CONFIG.MAXLEN, MOST_WAITING));
    this.#configure(to => {
      to.u32(CONFIG.MASK, FLAGS);
      to.u32(CONFIG.FLAGS, FLAGS);
    });
  }

  #configure(content: (to: AttributeWriter) => void): void {
    const to = new AttributeWriter();
    const start = beginMessage(to, MSG.CONFIG, NLM_F.REQUEST | NLM_F.ACK, 1, 0, this.#number);
    content(to);
    endMessage(to, start);
    const message = fixed(to.length);
    message.bytes.set(to.written);
    check('send', send(this.fd, message.at, message.bytes.length, 0));
    while (!this.#isAnswered());
  }

  /** Packets may arrive before the kernel's answer: a previous agent may have left the switch on. */
  #isAnswered(): boolean {
    const came = this.#receive(true);
    if (came === 0) throw new Error(`queue ${this.#number}: the kernel does not answer`);
    let isAnswered = false;
    for (let i = 0; i < came; i++)
      for (const message of readMessages(this.#received.bytes(i), this.#received.lengthOf(i))) {
        const packet = message.type === MSG.PACKET ? readWaiting(message) : undefined;
        if (packet !== undefined) this.#early.push(packet);
        if (message.type === NLMSG.ERROR) isAnswered = this.#isTaken(message);
      }
    return isAnswered;
  }

  /** Throws where the kernel refuses. */
  #isTaken({ payload: { bytes, start } }: Message): true {
    const code = -bytes.readInt32LE(start);
    if (code !== 0) throw new Error(`queue ${this.#number}: ${errnoName(code)}`);
    return true;
  }
}

function readWaiting({ attributes: { bytes, start, end } }: Message): WaitingPacket | undefined {
  let id: number | undefined;
  let [from, to] = [end, end];
  eachAttribute(bytes, start, end, (type, valueFrom, valueTo) => {
    if (type === PACKET.HEADER) id = bytes.readUInt32BE(valueFrom);
    if (type === PACKET.PAYLOAD) [from, to] = [valueFrom, valueTo];
  });
  return id === undefined ? undefined : { id, bytes: copyOf(bytes, from, to) };
}

/** Returns no Buffer, because allocating one is slow. */
function copyOf(bytes: Buffer, from: number, to: number): Uint8Array {
  return new Uint8Array(bytes.buffer.slice(bytes.byteOffset + from, bytes.byteOffset + to));
}

// The datagrams that a socket has, several by one system call (recvmmsg(2)): what is there, or what comes next.

/** struct mmsghdr, and where in it are msg_iov, msg_iovlen and msg_len; the same on x86-64 and arm64. */
const HEADER = { size: 64, vector: 16, vectors: 24, length: 56 } as const;
/** struct iovec. */
const VECTOR = { size: 16, length: 8 } as const;
/** recvmmsg waits for the first message only. */
const MSG_WAITFORONE = 0x10000;

class Datagrams {
  readonly most: number;
  readonly #chunks: readonly Fixed[];
  readonly #headers: Fixed;
  readonly #vectors: Fixed;

  /** Room for `most` datagrams of `chunk` bytes each. */
  constructor(most: number, chunk: number) {
    this.most = most;
    this.#chunks = Array.from({ length: most }, () => fixed(chunk));
    this.#headers = fixed(most * HEADER.size);
    this.#vectors = fixed(most * VECTOR.size);
    for (const [i, { at }] of this.#chunks.entries()) {
      this.#vectors.bytes.writeBigUInt64LE(at, i * VECTOR.size);
      this.#vectors.bytes.writeBigUInt64LE(BigInt(chunk), i * VECTOR.size + VECTOR.length);
      const header = i * HEADER.size;
      const vector = this.#vectors.at + BigInt(i * VECTOR.size);
      this.#headers.bytes.writeBigUInt64LE(vector, header + HEADER.vector);
      this.#headers.bytes.writeBigUInt64LE(1n, header + HEADER.vectors);
    }
  }

  /**
   * Returns how many datagrams came; negative on an error, which errno names. With `waits`, it waits for the first as
   * long as the socket allows.
   */
  receive(fd: number, waits: boolean): number {
    return recvmmsg(fd, this.#headers.at, this.most, waits ? MSG_WAITFORONE : MSG_DONTWAIT, null);
  }

  /** The bytes of a received packet; valid until the next ones are received. */
  bytes(index: number): Buffer {
    return this.#chunks[index]!.bytes;
  }

  lengthOf(index: number): number {
    return this.#headers.bytes.readUInt32LE(index * HEADER.size + HEADER.length);
  }
}
