import packet, { type Answer, type Packet } from 'dns-packet';

export const ASKED_NAME = 'n7.t.example';

/** A forged answer to the question of client.ts: ASKED_NAME has this address. */
export function forgedAnswer(address: string): Buffer {
  return packet.encode({
    type: 'response',
    id: 7,
    flags: 0x180,
    questions: [{ type: 'A', name: ASKED_NAME }],
    answers: [{ type: 'A', name: ASKED_NAME, ttl: 300, data: address } as Answer],
  } as Packet);
}
