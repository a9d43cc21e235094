/** What is denied because of what it is, whatever policies say: its line says so, of real packets. */
import { afterEach, expect, test } from 'vitest';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { address } from '../../../bench/lab/topology.ts';
import { DENIED_GROUP, DENIED_HEAD_BYTES, type DenialLimits } from '../../../src/compiler/denied.ts';
import { LogSocket } from '../../../src/kernel/netlink/nflog/logsocket.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { DenialRecorder } from '../../../src/observe/denials/journal.ts';
import { ModelView } from '../../../src/observe/denials/modelview.ts';
import type { NamedDenial } from '../../../src/observe/denials/name.ts';
import { eventsOf } from '../../support/arbitrary/events.ts';
import { arrives } from './attack.ts';
import { fragmentsOf, lengthened, transportOf } from './craft.ts';
import { ADDRESSES, Ground, NETWORKS } from './ground.ts';

const ENOUGH = { perSecond: 1_000, burst: 1_000 };
const LIMITS: DenialLimits = { perSource: ENOUGH, inAll: ENOUGH };
const ALL_HOSTS = 'ff:ff:ff:ff:ff:ff';
let ground: Ground | undefined;
let log: LogSocket | undefined;

afterEach(() => {
  log?.close();
  ground?.remove();
});

/** The pod loose sends them, to the gateway where no other is named; the cause of each line. */
async function causesOf(packets: readonly Uint8Array[], mac?: string): Promise<NamedDenial['cause'][]> {
  const seen = await ground!.enforce();
  const view = new ModelView(seen, { node: 'n1', unknownPods: 'allow', now: () => performance.now() });
  for (const event of eventsOf(seen)) view.apply(event);
  const group = { group: DENIED_GROUP, copyBytes: DENIED_HEAD_BYTES, atOnce: 32, withinMs: 10 };
  log = inNamespace(ground!.path('node'), () => LogSocket.open(group));
  const heard = { heard: transportOf(packets[0]!), ...(mac !== undefined && { mac }) };
  expect(await arrives(ground!, { from: 'loose', to: 'friend', packets, ...heard })).toBe(false);
  const recorder = new DenialRecorder({ view });
  const own = () => recorder.journal.denials().filter(({ from }) => from.pod === 'shop/loose');
  const read = () => {
    log!.read(1_000, handed => void recorder.take(handed, 0));
    return own().length;
  };
  await expect.poll(read, { timeout: 10_000, interval: 20 }).toBeGreaterThan(0);
  return own().map(({ cause }) => cause);
}

const datagram = (family: 'ip' | 'ip6', to: string) =>
  packet({ from: ADDRESSES.loose[family], to: address(to), protocol: 'UDP', port: 5353 });

const EVERYBODY = { kind: 'link', reason: expect.stringContaining('to a multicast or broadcast address') };

test.each(NETWORKS)('%s: the broadcast of the pod network', async network => {
  ground = await Ground.build({ network, denials: LIMITS });
  const mac = network === 'bridge' ? ALL_HOSTS : undefined;
  for (const cause of await causesOf([datagram('ip', '10.9.0.255')], mac)) expect(cause).toEqual(EVERYBODY);
});

test('the broadcast of a bridge whose network is another than the node’s pod networks', async () => {
  ground = await Ground.build({ network: 'bridge', denials: LIMITS });
  for (const [host, device, own] of [
    ['node', 'cni0', '10.9.100.1/16'],
    ['friend', 'eth0', '10.9.100.2/16'],
  ] as const)
    ground.exec(host, 'ip', ['addr', 'add', own, 'broadcast', '10.9.255.255', 'dev', device]);
  for (const cause of await causesOf([datagram('ip', '10.9.255.255')], ALL_HOSTS))
    expect(cause).toEqual(EVERYBODY);
});

test.each(NETWORKS)('%s: pieces of IPv6 that somebody keeps from being put together', async network => {
  ground = await Ground.build({ network, denials: LIMITS });
  const before = 'chain c { type filter hook prerouting priority -500; notrack\n }';
  ground.exec('node', 'nft', [`table inet others { ${before}\n}`]);
  const pieces = fragmentsOf(lengthened(datagram('ip6', ADDRESSES.friend.ip6)), 16);
  const causes = await causesOf(pieces);
  expect(causes.length).toBeGreaterThan(1); // the first, and later ones
  for (const cause of causes)
    expect(cause).toEqual({ kind: 'link', reason: expect.stringContaining('not reassembled') });
});
