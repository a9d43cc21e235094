/**
 * ttrpc messages (ttrpc/PROTOCOL.md), unary calls only:
 *
 *     message = length u32 | stream u32 | type u8 | flags u8 | data       big-endian
 *
 * A request and its answer bear the same stream; a caller's streams are odd, each used once, rising.
 */
import { ByteQueue } from './bytes.ts';
import { WireError } from './wireerror.ts';

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
