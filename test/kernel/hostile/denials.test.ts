/**
 * What hostile packets do to the naming of denials: whoever forges addresses is limited by its link, and nobody uses up
 * what the pods of this node have to be named by.
 */
import { afterEach, describe, expect, test } from 'vitest';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { address } from '../../../bench/lab/topology.ts';
import { DENIED_GROUP, type DenialLimits, LINK_PREFIX } from '../../../src/compiler/denied.ts';
import { LogSocket } from '../../../src/kernel/netlink/nflog/logsocket.ts';
import type { Address, Family } from '../../../src/model/address.ts';
import { packet, TCP_FLAGS } from '../../../src/nft/trace/packet.ts';
import { gatewayMac } from './attack.ts';
import { FrameSocket } from './frame.ts';
import { ADDRESSES, Ground, type GroundOptions, type Host } from './ground.ts';

/** Bursts that nothing adds to while a test runs. */
const LIMITS: DenialLimits = {
  perSource: { perSecond: 1, burst: 20 },
  inAll: { perSecond: 1, burst: 200 },
};
const MANY = 1_000;
const MOST_SILENT = 4_096;

let ground: Ground | undefined;
let log: LogSocket | undefined;

afterEach(() => {
  log?.close();
  ground?.remove();
});

async function build(options: Omit<GroundOptions, 'denials'>): Promise<Ground> {
  ground = await Ground.build({ ...options, denials: LIMITS });
  await ground.enforce();
  const group = { group: DENIED_GROUP, copyBytes: 64, atOnce: 32, withinMs: 10 };
  log = inNamespace(ground.path('node'), () => LogSocket.open(group));
  return ground;
}

function send(from: Host, packets: readonly Uint8Array[], mac = gatewayMac(ground!, from)): void {
  const device = from === 'outside' ? 'wire' : 'eth0';
  const socket = new FrameSocket(ground!.path(from), ground!.index(from, device), ground!.mac(from, device));
  try {
    for (const each of packets) socket.send(each, mac);
  } finally {
    socket.close();
  }
}

/** What is handed over, by the prefix that it comes under and its sender, until that holds. */
async function handedOver(holds: (found: readonly string[]) => boolean): Promise<string[]> {
  const found: string[] = [];
  const read = () => {
    log!.read(10_000, ({ prefix, bytes }) => {
      found.push(`${prefix === LINK_PREFIX ? 'link' : 'source'} ${sourceOf(bytes)}`);
    });
    return holds(found);
  };
  await expect.poll(read, { timeout: 30_000, interval: 20 }).toBe(true);
  return found;
}

function sourceOf(bytes: Uint8Array): string {
  const [from, length] = bytes[0]! >> 4 === 4 ? [12, 4] : [8, 16];
  return Buffer.from(bytes.subarray(from, from + length)).toString('hex');
}

const hexOf = (at: Address) => sourceOf(packet({ from: at, to: at, protocol: 'UDP', port: 1 }));
const forged = (family: Family, n: number): Address =>
  address(family === 'ip' ? `203.0.${n >> 8}.${n & 255}` : `2001:db8::${(n + 1).toString(16)}`);
const range = <T>(count: number, make: (n: number) => T) => Array.from({ length: count }, (_, n) => make(n));

describe.each(['ip', 'ip6'] as const)('%s', family => {
  const own = (host: Host) => ADDRESSES[host][family];
  const denied = (from: Address, port: number) =>
    packet({ from, to: own('outside'), protocol: 'UDP', port: 1000 + port });

  test.each([
    ['as a packet from the middle of a connection', 'ptp', { tcpFlags: TCP_FLAGS.ack }],
    ['as the first packet of a connection', 'ptp', { tcpFlags: TCP_FLAGS.syn }],
    ['as one from the middle, where nobody knows whose a port is', 'bridge', { tcpFlags: TCP_FLAGS.ack }],
  ] as const)('a pod that forges addresses is limited by its link: %s', async (_, network, how) => {
    const here = await build({ network });
    if (network === 'bridge') await here.withoutBridgeTable();
    const flood = range(MANY, n =>
      packet({ from: forged(family, n), to: own('attacker'), protocol: 'TCP', port: 80, ...how }),
    );
    send('loose', flood);
    send('attacker', [denied(own('attacker'), 1)]);
    const found = await handedOver(texts => texts.includes(`source ${hexOf(own('attacker'))}`));
    expect(found.filter(text => text.startsWith('source'))).toHaveLength(1);
    expect(found.length).toBeGreaterThan(1);
  });

  test('what comes from outside with forged addresses leaves the pods of this node their half', async () => {
    await build({ network: 'ptp' });
    const flood = (n: number) =>
      packet({ from: forged(family, n), to: own('victim'), protocol: 'UDP', port: 80 });
    send('outside', range(MANY, flood));
    const pods = ['attacker', 'loose'] as const;
    send(
      'attacker',
      range(5, n => denied(own('attacker'), n)),
    );
    send(
      'loose',
      range(5, n => packet({ from: own('loose'), to: own('victim'), protocol: 'UDP', port: 80 + n })),
    );
    const isOf = (host: Host) => (text: string) => text === `source ${hexOf(own(host))}`;
    const found = await handedOver(texts => pods.every(pod => texts.filter(isOf(pod)).length === 5));
    expect(found.length).toBeLessThanOrEqual(10 + LIMITS.inAll.burst / 2 + 30);
  });

  test('a source is limited where the silent have no room for it', async () => {
    const here = await build({ network: 'ptp' });
    await here.endAgent();
    const silent = range(MOST_SILENT, n => `${forged(family, n)} timeout 1h`);
    here.exec(
      'node',
      'nft',
      ['-f', '-'],
      `add element ${family} sluice denied-silent { ${silent.join(', ')} }`,
    );
    send(
      'attacker',
      range(150, n => denied(own('attacker'), n)),
    );
    send('loose', [packet({ from: own('loose'), to: own('victim'), protocol: 'UDP', port: 80 })]);
    const found = await handedOver(texts => texts.includes(`source ${hexOf(own('loose'))}`));
    expect(found.length).toBeLessThan(LIMITS.perSource.burst + 30);
  });
});

test('a pod that forges addresses to the link-local one of another is limited by its link', async () => {
  const here = await build({ network: 'bridge' });
  await here.withoutBridgeTable();
  const to = here.linkLocal('victim');
  send(
    'loose',
    range(MANY, n => packet({ from: forged('ip6', n), to, protocol: 'UDP', port: 80 })),
  );
  send('attacker', [
    packet({ from: ADDRESSES.attacker.ip6, to: ADDRESSES.outside.ip6, protocol: 'UDP', port: 1 }),
  ]);
  const own = `source ${hexOf(ADDRESSES.attacker.ip6)}`;
  const found = await handedOver(texts => texts.includes(own));
  expect(found.filter(text => text.startsWith('source'))).toEqual([own]);
});
