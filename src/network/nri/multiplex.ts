/**
 * Several connections over one socket, as NRI multiplexes them (nri/pkg/net/multiplex):
 *
 *     frame = connection u32 | length u32 | payload           big-endian
 *
 * Connection 1 carries requests of the runtime to the plugin and their answers, connection 2 those of the plugin to
 * the runtime. A frame's borders mean nothing: each connection is a stream of bytes.
 */

export const PLUGIN_SERVICE = 1;
export const RUNTIME_SERVICE = 2;

const HEADER = 8;
/** NRI's own limit: a ttrpc message and its header. */
export const LONGEST_FRAME = 10 + (4 << 20);
/** The other end reads with a buffer of this size, and fails on a longer frame that meets it empty. */
const LONGEST_SENT = 4096;

export interface Frame {
  readonly connection: number;
  readonly payload: Buffer;
}

/** The payload as frames, one after the other. */
export function encodeFrames(connection: number, payload: Buffer): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0; at < payload.length; at += LONGEST_SENT) {
    const piece = payload.subarray(at, at + LONGEST_SENT);
    const header = Buffer.alloc(HEADER);
    header.writeUInt32BE(connection, 0);
    header.writeUInt32BE(piece.length, 4);
    pieces.push(header, piece);
  }
  return Buffer.concat(pieces);
}

export class FrameReader {
  readonly #bytes = new ByteQueue();

  /** The frames that the bytes complete. Throws WireError. */
  read(chunk: Buffer): Frame[] {
    this.#bytes.push(chunk);
    const frames: Frame[] = [];
    while (this.#bytes.length >= HEADER) {
      const header = this.#bytes.peek(HEADER);
      const [connection, length] = [header.readUInt32BE(0), header.readUInt32BE(4)];
      if (length > LONGEST_FRAME) {
        throw new WireError(`a frame of ${length} bytes; NRI's longest has ${LONGEST_FRAME}`);
      }
      if (this.#bytes.length < HEADER + length) break;
      this.#bytes.take(HEADER);
      frames.push({ connection, payload: this.#bytes.take(length) });
    }
    return frames;
  }
}

/** The other side violated the protocol: nothing after that can be trusted, so the connection is closed. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

/**
 * A queue of bytes that arrive in pieces of one size and are taken in others. Nothing is allocated ahead, because a
 * header may announce bytes that never come.
 */
export class ByteQueue {
  #chunks: Buffer[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#length += chunk.length;
  }

  /** A copy of the first bytes, which stay; `count` must not exceed `length`. */
  peek(count: number): Buffer {
    if ((this.#chunks[0]?.length ?? 0) < count) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks.length === 0 ? Buffer.alloc(0) : this.#chunks[0]!.subarray(0, count);
  }

  /** `count` must not exceed `length`. */
  take(count: number): Buffer {
    const taken = this.peek(count);
    if (this.#chunks.length > 0) {
      const rest = this.#chunks[0]!.subarray(count);
      if (rest.length > 0) this.#chunks[0] = rest;
      else this.#chunks.shift();
    }
    this.#length -= count;
    return taken;
  }
}
