/** A veth that comes to the bridge of pods: how long it may send as its neighbour, which is until it is known whose it is. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { InterfaceWatcher, type InterfaceWatcherOptions } from '../../../src/daemon/pods/interfacewatcher.ts';
import { type Address, FAMILIES, type Family } from '../../../src/model/address.ts';
import type { ClusterEvent, NodeLinks } from '../../../src/model/cluster.ts';
import { macBytes } from '../../../src/model/mac.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { hears } from './attack.ts';
import { transportOf } from './craft.ts';
import { FrameSocket } from './frame.ts';
import { ADDRESSES, Ground, type Host } from './ground.ts';

const NEW = { ip: '10.9.0.50' as Address, ip6: 'fd09::50' as Address };
const DEVICE = 'eth7';
const NEXT = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'next', namespace: 'shop', labels: { app: 'friend' } },
  spec: { nodeName: 'n1', containers: [{ name: 'c' }] },
  status: { phase: 'Running', podIPs: Object.values(NEW).map(ip => ({ ip })) },
};

let ground: Ground;

afterEach(() => ground.remove());

/** The new pod’s namespace is that of the host outside. */
function addPort(bridge = 'cni0', name = 'to-next', device = DEVICE): void {
  const inNode = (...args: string[]) => ground.exec('node', 'ip', args);
  inNode('link', 'add', name, 'type', 'veth', 'peer', 'name', device, 'netns', ground.nameOf('outside'));
  ground.exec('outside', 'ip', ['link', 'set', device, 'up']);
  inNode('link', 'set', name, 'master', bridge, 'up');
}

function giveAddress(): void {
  ground.addAddresses('outside', DEVICE, NEW);
}

describe('with an agent', () => {
  let links: InterfaceWatcher;
  let noted: NodeLinks[];

  beforeEach(async () => {
    // The agent looks every 5 s in any case: in this test that time never comes.
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    ground = await Ground.build({ network: 'bridge' });
    noted = [];
    const cluster = await ground.enforce();
    const note = (events: readonly ClusterEvent[]) => {
      for (const event of events) if (event.type === 'node') noted.push(event.value!.links!);
    };
    const log = { warn: (_: object, text: string) => noted.push(text as never) } as never;
    const needs: InterfaceWatcherOptions = {
      node: 'n1',
      cluster: () => cluster,
      apply: note,
      bridgeRules: true,
      portsBefore: [],
      log,
    };
    links = inNamespace(ground.path('node'), () => new InterfaceWatcher(needs));
    await inNamespace(ground.path('node'), () => links.start());
  });

  afterEach(() => {
    links.close();
    vi.useRealTimers();
  });

  const knows = (address: Address) =>
    noted.at(-1)!.podPorts!.some(({ addresses }) => addresses.includes(address));

  test('it is known without waiting for the next look, and then sends as itself alone', async () => {
    addPort();
    giveAddress();
    vi.advanceTimersByTime(300);
    await expect.poll(() => knows(NEW.ip)).toBe(true);
    await ground.enforce();
    for (const family of FAMILIES) expect(await isHeardAsFriend(family)).toBe(false);
  });

  test('it is counted while nobody knows whose it is, and looked at again soon', async () => {
    addPort();
    vi.advanceTimersByTime(300);
    await expect.poll(() => noted.at(-1)!.bridgePorts!.unknown).toEqual(['to-next']);
    await ground.enforce();
    expect(await isHeardAsFriend('ip'), 'as it is where unknown pods are allowed').toBe(true);
    giveAddress();
    vi.advanceTimersByTime(500);
    await expect.poll(() => knows(NEW.ip)).toBe(true);
    expect(noted.at(-1)!.bridgePorts!.unknown).toEqual([]);
  });
});

describe('where unknown pods are denied', () => {
  beforeEach(async () => {
    ground = await Ground.build({ network: 'bridge', unknownPods: 'deny' });
  });

  test('it is not heard from its first frame on, whether an agent lives or not', async () => {
    await ground.enforce();
    addPort();
    for (const family of FAMILIES) {
      expect(await isHeardAsFriend(family)).toBe(false);
      giveAddressOnce(family);
      expect(await isHeardAsFriend(family)).toBe(false);
    }
    expect(await foundAt('node', ADDRESSES.friend.ip)).toBe(ground.mac('friend'));
    // The same without the rule that drops it: so it is what is tried here.
    await ground.withoutBridgeTable();
    for (const family of FAMILIES) expect(await isHeardAsFriend(family)).toBe(true);
  });

  test('it sends as itself as soon as it is known', async () => {
    await ground.enforce();
    addPort();
    giveAddress();
    await ground.enforce(NEXT);
    for (const family of FAMILIES) {
      expect(await isHeard(family, NEW[family])).toBe(true);
      expect(await isHeardAsFriend(family)).toBe(false);
    }
  });

  test('a bridge of others carries what it likes', async () => {
    ground.exec('node', 'ip', ['link', 'add', 'br-vm', 'type', 'bridge']);
    ground.exec('node', 'ip', ['link', 'set', 'br-vm', 'up']);
    addPort('br-vm');
    ground.exec('node', 'ip', ['address', 'add', '10.77.0.1/24', 'dev', 'br-vm']);
    await ground.enforce();
    ground.exec('outside', 'ip', ['address', 'add', '10.77.0.2/24', 'dev', DEVICE]);
    expect(await foundAt('outside', '10.77.0.1' as Address)).toBe(ground.mac('node', 'br-vm'));
  });
});

function giveAddressOnce(family: Family): void {
  const length = family === 'ip' ? 24 : 64;
  ground.exec('outside', 'ip', ['address', 'add', `${NEW[family]}/${length}`, 'dev', DEVICE]);
}

/** Whether the new pod, with its neighbour’s hardware address and its own, is heard by whom that one alone may send to. */
async function isHeardAsFriend(family: Family): Promise<boolean> {
  const heard = [
    await isHeard(family, ADDRESSES.friend[family], ground.mac('friend')),
    await isHeard(family, ADDRESSES.friend[family]),
  ];
  return heard.includes(true);
}

let sent = 0;

async function isHeard(family: Family, from: Address, mac = ground.mac('outside', DEVICE)): Promise<boolean> {
  const port = 5_000 + sent++;
  const datagram = packet({ from, to: ADDRESSES.victim[family], protocol: 'UDP', port });
  const wanted = Buffer.from(transportOf(datagram));
  const socket = new FrameSocket(ground.path('outside'), ground.index('outside', DEVICE), mac);
  const arp = [...macBytes('ff:ff:ff:ff:ff:ff'), ...macBytes(mac), 8, 6];
  try {
    return await hears(
      ground,
      { to: 'victim', family, protocol: 17, matches: ({ payload }) => payload.equals(wanted) },
      () => {
        socket.sendRaw(Uint8Array.from([...arp, ...friendIsAt(mac)]));
        socket.send(datagram, ground.mac('victim'));
        // What the bridge has learned of its neighbour is put right, for the next to be heard that is sent to it.
        const friend = new FrameSocket(ground.path('friend'), ground.index('friend'), ground.mac('friend'));
        friend.send(
          packet({ from: ADDRESSES.friend.ip, to: ADDRESSES.loose.ip, protocol: 'UDP', port: 9 }),
          ground.mac('loose'),
        );
        friend.close();
      },
    );
  } finally {
    socket.close();
  }
}

/** An answer by ARP that nobody asked for. */
function friendIsAt(mac: string): number[] {
  const ip = ADDRESSES.friend.ip.split('.').map(Number);
  return [0, 1, 8, 0, 6, 4, 0, 2, ...macBytes(mac), ...ip, ...macBytes('ff:ff:ff:ff:ff:ff'), ...ip];
}

/** Where a host finds an address, for which it asks. */
async function foundAt(host: Host, at: Address): Promise<string> {
  ground.exec(host, 'bash', ['-c', `echo > /dev/udp/${at}/9`]);
  const found = () => ground.exec(host, 'ip', ['neigh', 'show', at]);
  await expect.poll(found).toMatch(/REACHABLE|STALE|DELAY/);
  return /lladdr (\S+)/.exec(found())![1]!;
}
