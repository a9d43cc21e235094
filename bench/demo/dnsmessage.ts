/** As much of DNS (RFC 1035 4.1) as one question for an IPv4 address takes, and its answer. */
import { type Address, addressBytes } from '../../src/model/address.ts';

export function question(name: string): Buffer {
  const labels = name.split('.').flatMap(label => [label.length, ...Buffer.from(label)]);
  return Buffer.from([0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...labels, 0, 0, 1, 0, 1]);
}

const TTL_SECONDS = 60;

/** The name of the answer is a pointer to that of the question. */
export function answerTo(asked: Buffer, address: Address): Buffer {
  const head = Buffer.from(asked);
  head.writeUInt16BE(0x8180, 2);
  head.writeUInt16BE(1, 6);
  const record = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, TTL_SECONDS, 0, 4];
  return Buffer.concat([head, Buffer.from([...record, ...addressBytes(address)])]);
}
