/**
 * What the end that did not open an association of SCTP sends out of its middle makes no connection of which the other
 * end's packets are replies: an association that was cut stays cut, though both ends send heartbeats without being asked.
 */
import { expect, test } from 'vitest';
import { FAMILIES, type Family } from '../../../src/model/address.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { arrives } from './attack.ts';
import { enforcedGround } from './enforced.ts';
import { ADDRESSES } from './ground.ts';

/** Chunks of which conntrack makes a connection (RFC 9260, 3.2): an INIT is one too, and judged by policy. */
const MAKING = { heartbeat: 4, heartbeatAck: 5, shutdownAck: 8 } as const;
const [DATA, INIT, INIT_ACK] = [0, 1, 2];
const SERVER_PORT = 80;

const ground = enforcedGround({ network: 'ptp' });
let clientPort = 6000;

type Client = 'loose' | 'friend';

const sent = (client: Client, family: Family, sctpChunk: number) =>
  arrives(ground, {
    from: client,
    to: 'victim',
    packets: [
      packet({ ...ends(client, 'victim', family), port: SERVER_PORT, sourcePort: clientPort, sctpChunk }),
    ],
  });

const answered = (client: Client, family: Family, sctpChunk: number) =>
  arrives(ground, {
    from: 'victim',
    to: client,
    packets: [
      packet({ ...ends('victim', client, family), port: clientPort, sourcePort: SERVER_PORT, sctpChunk }),
    ],
  });

function ends(from: Client | 'victim', to: Client | 'victim', family: Family) {
  return { from: ADDRESSES[from][family], to: ADDRESSES[to][family], protocol: 'SCTP' } as const;
}

test.each(Object.entries(MAKING))('a server’s %s has a denied client not heard', async (_, chunk) => {
  for (const family of FAMILIES) {
    clientPort++;
    expect(await answered('loose', family, chunk)).toBe(false);
    expect(await sent('loose', family, MAKING.heartbeatAck)).toBe(false);
    expect(await sent('loose', family, DATA)).toBe(false);
  }
});

test('an association that is allowed is not disturbed, heartbeats of either end included', async () => {
  for (const family of FAMILIES) {
    clientPort++;
    expect(await sent('friend', family, INIT)).toBe(true);
    expect(await answered('friend', family, INIT_ACK)).toBe(true);
    expect(await answered('friend', family, MAKING.heartbeat)).toBe(true);
    expect(await sent('friend', family, MAKING.heartbeatAck)).toBe(true);
    expect(await sent('friend', family, MAKING.heartbeat)).toBe(true);
  }
});

test('of an association that the kernel has forgotten its opener’s heartbeat makes one again', async () => {
  for (const family of FAMILIES) {
    clientPort++;
    expect(await sent('friend', family, MAKING.heartbeat)).toBe(true);
    expect(await answered('friend', family, MAKING.heartbeatAck)).toBe(true);
    expect(await sent('friend', family, DATA)).toBe(true);
  }
});
