/** The datagrams that a socket has, several by one system call (recvmmsg(2)): what is there, or what comes next. */
import { MSG_DONTWAIT } from '../../kernel/netlink/wire/libc.ts';
import { type Fixed, fixed, recvmmsg } from './libc.ts';

/** struct mmsghdr, and where in it are msg_iov, msg_iovlen and msg_len; the same on x86-64 and arm64. */
const HEADER = { size: 64, vector: 16, vectors: 24, length: 56 } as const;
/** struct iovec. */
const VECTOR = { size: 16, length: 8 } as const;
/** Waits for the first, and not for those behind it. */
const MSG_WAITFORONE = 0x10000;

export class Datagrams {
  readonly most: number;
  readonly #chunks: readonly Fixed[];
  readonly #headers: Fixed;
  readonly #vectors: Fixed;

  /** Room for so many, each of so many bytes. */
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

  /** How many came; negative where errno says why none did. `waits`: for the first, as long as the socket does. */
  receive(fd: number, waits: boolean): number {
    return recvmmsg(fd, this.#headers.at, this.most, waits ? MSG_WAITFORONE : MSG_DONTWAIT, null);
  }

  /** Until the next ones are received. */
  bytes(index: number): Buffer {
    return this.#chunks[index]!.bytes;
  }

  lengthOf(index: number): number {
    return this.#headers.bytes.readUInt32LE(index * HEADER.size + HEADER.length);
  }
}
