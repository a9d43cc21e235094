/**
 * One side of an NRI connection: it answers the other side's requests on one multiplexed connection, and sends its own
 * on the other. Both sides work alike; they differ only in which connection is used for which.
 *
 *     call(…)  ──request──▶ other side ──response──▶ settled
 *     serve(…) ◀──request── other side ◀──response──
 */
import type { Duplex } from 'node:stream';
import { decode, encode, type Status } from './messages.ts';
import { ByteQueue, encodeFrames, FrameReader, WireError } from './multiplex.ts';

/** gRPC's codes, which ttrpc uses. */
export const TTRPC_CODE = { invalidArgument: 3, unimplemented: 12, internal: 13 } as const;

/** The other end's refusal of a call; thrown by a handler, ours of its call. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** Answers a call with its response's bytes. */
type Serve = (service: string, method: string, payload: Uint8Array) => Promise<Buffer>;

export interface PeerOptions {
  readonly socket: Duplex;
  /** The multiplexed connection on which this side answers, and the one on which it asks. */
  readonly serves: number;
  readonly calls: number;
  readonly serve: Serve;
}

interface Pending {
  readonly resolve: (payload: Uint8Array) => void;
  readonly reject: (error: Error) => void;
}

/** More simultaneous requests than any runtime sends: they send one after the other. */
const MOST_AT_ONCE = 64;

export class TtrpcPeer {
  /** Settled when the connection has ended, with the reason. Never rejects. */
  readonly ended: Promise<string>;
  readonly #options: PeerOptions;
  readonly #frames = new FrameReader();
  readonly #served = new MessageReader();
  readonly #answered = new MessageReader();
  readonly #pending = new Map<number, Pending>();
  #nextStream = 1;
  #serving = 0;
  #reason: string | undefined;

  constructor(options: PeerOptions) {
    this.#options = options;
    const { socket } = options;
    this.ended = new Promise(resolve => {
      socket.on('data', (chunk: Buffer) => this.#receive(chunk));
      socket.on('error', error => this.close(error.message));
      socket.on('end', () => this.close('the other end closed the connection'));
      socket.on('close', () => {
        this.close('the connection was closed');
        for (const { reject } of this.#pending.values()) reject(new Error(this.#reason));
        resolve(this.#reason!);
      });
    });
  }

  /** Throws RpcError where the other end refuses, Error where the connection ends first. */
  call(service: string, method: string, payload: Buffer): Promise<Uint8Array> {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    const answer = new Promise<Uint8Array>((resolve, reject) => {
      if (this.#reason !== undefined) reject(new Error(this.#reason));
      else this.#pending.set(stream, { resolve, reject });
    });
    this.#send(this.#options.calls, {
      stream,
      type: REQUEST,
      data: encode('Request', { service, method, payload }),
    });
    return answer;
  }

  close(reason: string): void {
    this.#reason ??= reason;
    this.#options.socket.destroy();
  }

  #receive(chunk: Buffer): void {
    if (this.#reason !== undefined) return;
    try {
      for (const { connection, payload } of this.#frames.read(chunk)) this.#demultiplex(connection, payload);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      this.close(error.message);
    }
  }

  /** Payloads of other connections are ignored, as NRI does. */
  #demultiplex(connection: number, payload: Buffer): void {
    const { serves, calls } = this.#options;
    if (connection === serves) for (const message of this.#served.read(payload)) this.#request(message);
    if (connection === calls) for (const message of this.#answered.read(payload)) this.#response(message);
  }

  #request({ type, stream, data }: TtrpcMessage): void {
    if (type !== REQUEST) throw new WireError('a response where requests are sent');
    if (this.#serving >= MOST_AT_ONCE) throw new WireError(`more than ${MOST_AT_ONCE} requests at a time`);
    const { service, method, payload } = decode('Request', data);
    this.#serving++;
    void this.#answer(service, method, payload)
      .then(response => {
        // A response that the other side does not read stays in memory until it is sent.
        this.#send(this.#options.serves, { stream, type: RESPONSE, data: response }, () => this.#serving--);
      })
      .catch((error: Error) => this.close(error.message));
  }

  async #answer(service: string, method: string, payload: Uint8Array): Promise<Buffer> {
    try {
      return encode('Response', { payload: await this.#options.serve(service, method, payload) });
    } catch (error) {
      return encode('Response', { status: statusOf(error as Error) });
    }
  }

  #response({ type, stream, data }: TtrpcMessage): void {
    if (type !== RESPONSE) throw new WireError('a request where responses are sent');
    const pending = this.#pending.get(stream);
    if (pending === undefined)
      throw new WireError(`a response on stream ${stream}, where none was asked for`);
    this.#pending.delete(stream);
    const { status, payload } = decode('Response', data);
    if (status === undefined || status === null || status.code === 0) pending.resolve(payload);
    else pending.reject(new RpcError(status.code, status.message.slice(0, LONGEST_REASON)));
  }

  #send(connection: number, message: TtrpcMessage, sent?: () => void): void {
    if (this.#reason === undefined)
      this.#options.socket.write(encodeFrames(connection, encodeMessage(message)), sent);
  }
}

function statusOf(error: Error): Status {
  const code =
    error instanceof RpcError
      ? error.code
      : error instanceof WireError
        ? TTRPC_CODE.invalidArgument
        : TTRPC_CODE.internal;
  return { code, message: error.message.slice(0, LONGEST_REASON) };
}

/** The reason may quote the request, which may be as long as a message. */
const LONGEST_REASON = 1000;

/**
 * ttrpc messages (ttrpc/PROTOCOL.md), unary calls only:
 *
 *     message = length u32 | stream u32 | type u8 | flags u8 | data       big-endian
 *
 * A request and its answer bear the same stream; a caller's streams are odd, each used once, rising.
 */
export const REQUEST = 1;
export const RESPONSE = 2;

const HEADER = 10;
const LONGEST_DATA = 4 << 20;

export interface TtrpcMessage {
  readonly stream: number;
  readonly type: typeof REQUEST | typeof RESPONSE;
  readonly data: Buffer;
}

/** Throws RangeError where the other end would refuse it for its length. */
export function encodeMessage({ stream, type, data }: TtrpcMessage): Buffer {
  if (data.length > LONGEST_DATA) {
    throw new RangeError(`a message of ${data.length} bytes; ttrpc's longest has ${LONGEST_DATA}`);
  }
  const header = Buffer.alloc(HEADER);
  header.writeUInt32BE(data.length, 0);
  header.writeUInt32BE(stream, 4);
  header.writeUInt8(type, 8);
  return Buffer.concat([header, data]);
}

export class MessageReader {
  readonly #bytes = new ByteQueue();

  /** The messages that the bytes complete. Throws WireError. */
  read(chunk: Buffer): TtrpcMessage[] {
    this.#bytes.push(chunk);
    const messages: TtrpcMessage[] = [];
    while (this.#bytes.length >= HEADER) {
      const header = this.#bytes.peek(HEADER);
      const [length, stream, type] = [header.readUInt32BE(0), header.readUInt32BE(4), header.readUInt8(8)];
      if (length > LONGEST_DATA) {
        throw new WireError(`a message of ${length} bytes; ttrpc's longest has ${LONGEST_DATA}`);
      }
      if (type !== REQUEST && type !== RESPONSE) {
        throw new WireError(`a message of type ${type}: neither a request nor a response`);
      }
      if (this.#bytes.length < HEADER + length) break;
      this.#bytes.take(HEADER);
      messages.push({ stream, type, data: this.#bytes.take(length) });
    }
    return messages;
  }
}
