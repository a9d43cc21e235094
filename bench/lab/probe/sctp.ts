/** SCTP without a kernel that speaks it: an INIT in a raw packet, answered by an INIT ACK (RFC 9260, 3.3.2). */

import { PROTOCOL_NUMBER } from '../../../src/model/ipprotocol.ts';
import { AF_INET, close, SOCK_STREAM, SystemError, socket } from '../libc.ts';
import { target } from './attempt.ts';
import { crc32c } from './checksum.ts';
import type { Dialogue, HeardPacket } from './raw.ts';
import { nextPort } from './sourceport.ts';

const INIT = 1;
const INIT_ACK = 2;
const STATE_COOKIE = 7;

let spoken: boolean | undefined;

/** Whether this kernel has SCTP sockets: then they are used, and not what follows. */
export function speaksSctp(): boolean {
  spoken ??= hasSockets();
  return spoken;
}

function hasSockets(): boolean {
  try {
    close(socket(AF_INET, SOCK_STREAM, PROTOCOL_NUMBER.sctp));
    return true;
  } catch (error) {
    if (error instanceof SystemError && error.code === 'EPROTONOSUPPORT') return false;
    throw error;
  }
}

export function sctpDialogue(): Dialogue {
  return {
    protocol: PROTOCOL_NUMBER.sctp,
    question: ({ id, probe }) => packet(nextPort(), target(probe).port, 0, initChunk(INIT, id)),
    read,
  };
}

function read(payload: Buffer): HeardPacket | undefined {
  if (payload.length < HEADER + CHUNK) return undefined;
  const [source, destination] = [payload.readUInt16BE(0), payload.readUInt16BE(2)];
  const initiateTag = payload.readUInt32BE(HEADER + 4);
  // The tag that a peer sends with its INIT is in the header of every packet that is sent to it.
  if (payload[HEADER] === INIT_ACK) return { kind: 'answer', id: payload.readUInt32BE(4) };
  if (payload[HEADER] !== INIT) return undefined;
  const ack = initChunk(INIT_ACK, initiateTag, stateCookie());
  return { kind: 'question', answer: packet(destination, source, initiateTag, ack) };
}

const HEADER = 12; // Ports, verification tag, checksum.
const CHUNK = 20;

function packet(source: number, destination: number, tag: number, chunk: Buffer): Uint8Array {
  const bytes = Buffer.concat([Buffer.alloc(HEADER), chunk]);
  bytes.writeUInt16BE(source, 0);
  bytes.writeUInt16BE(destination, 2);
  bytes.writeUInt32BE(tag, 4);
  bytes.writeUInt32LE(crc32c(bytes), 8); // Little-endian: the CRC's bits are transmitted reversed (appendix A).
  return bytes;
}

// Type, flags, length, initiate tag, window, outbound and inbound streams, first TSN; then parameters.
function initChunk(type: number, tag: number, parameters: Buffer = Buffer.alloc(0)): Buffer {
  const chunk = Buffer.alloc(CHUNK);
  chunk[0] = type;
  chunk.writeUInt16BE(CHUNK + parameters.length, 2);
  chunk.writeUInt32BE(tag, 4);
  chunk.writeUInt32BE(65_536, 8);
  chunk.writeUInt16BE(1, 12);
  chunk.writeUInt16BE(1, 14);
  chunk.writeUInt32BE(tag, 16);
  return Buffer.concat([chunk, parameters]);
}

function stateCookie(): Buffer {
  const parameter = Buffer.alloc(8);
  parameter.writeUInt16BE(STATE_COOKIE, 0);
  parameter.writeUInt16BE(parameter.length, 2);
  return parameter;
}
