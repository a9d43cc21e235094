/**
 * Everything else goes through raw sockets, one for each address: it sends what starts here, answers what ends
 * here, and sees the answers come back.
 */
import { type Address, familyOf } from '../../../src/model/address.ts';
import { bind, type Fd, POLLIN, receive, SOCK_RAW, send } from '../libc.ts';
import { type Attempt, target } from './attempt.ts';
import type { Round } from './round.ts';
import { socketAddress } from './sockaddr.ts';

/** How a protocol asks and answers. `read` looks at what arrived. */
export interface Dialogue {
  /** The IP protocol number. */
  readonly protocol: number;
  question(attempt: Attempt): Uint8Array;
  read(payload: Buffer): HeardPacket | undefined;
}

export type HeardPacket =
  /** A question, and what to answer. */
  | { readonly kind: 'question'; readonly answer: Uint8Array }
  /** The answer to the attempt with this id. */
  | { readonly kind: 'answer'; readonly id: number };

export function tryRaw(round: Round, attempts: readonly Attempt[], dialogue: Dialogue): void {
  const waiting = new Map(attempts.map(attempt => [attempt.id, attempt]));
  const sockets = new Map<Address, Fd>();
  for (const { probe } of attempts)
    for (const address of [probe.from, probe.to])
      if (!sockets.has(address)) sockets.set(address, converse(round, address, dialogue, waiting));
  for (const attempt of attempts) {
    const { address } = target(attempt.probe);
    send(sockets.get(attempt.probe.from)!, dialogue.question(attempt), socketAddress(address));
  }
}

function converse(round: Round, address: Address, dialogue: Dialogue, waiting: Map<number, Attempt>): Fd {
  const fd = round.socket(address, SOCK_RAW, dialogue.protocol, fd => bind(fd, socketAddress(address)));
  round.watch(fd, POLLIN, () => {
    for (let got = receive(fd); got !== undefined; got = receive(fd)) {
      const message = dialogue.read(payloadOf(address, got.data));
      if (message?.kind === 'question') send(fd, message.answer, withoutPort(got.from));
      if (message?.kind === 'answer') settle(waiting, message.id);
    }
  });
  return fd;
}

function settle(waiting: Map<number, Attempt>, id: number): void {
  waiting.get(id)?.open();
  waiting.delete(id);
}

// A raw IPv4 socket is given the IP header too, a raw IPv6 socket is not.
function payloadOf(address: Address, packet: Buffer): Buffer {
  return familyOf(address) === 'ip' ? packet.subarray((packet[0]! & 0x0f) * 4) : packet;
}

// For IPv6 the kernel reports the protocol in the place of the port, and refuses to send to it.
function withoutPort(from: Uint8Array): Uint8Array {
  return Uint8Array.from(from).fill(0, 2, 4);
}
