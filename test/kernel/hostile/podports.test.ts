/** By a port of a bridge nobody but its pod sends: no address of a neighbour's, in no kind of frame (N70). */
import { beforeAll, describe, expect, test } from 'vitest';
import { type Address, addressBytes, FAMILIES } from '../../../src/model/address.ts';
import { macBytes } from '../../../src/model/mac.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { arrives, control } from './attack.ts';
import { hiddenInPieces, withHops, withIcmp } from './craft.ts';
import { enforcedGround } from './enforced.ts';
import { FrameSocket } from './frame.ts';
import { ADDRESSES, GATEWAY, type Host } from './ground.ts';

const EVERYBODY = 'ff:ff:ff:ff:ff:ff';
const ALL_NODES = '33:33:00:00:00:01';
const ETHER = { ip: [0x08, 0x00], arp: [0x08, 0x06], ip6: [0x86, 0xdd] } as const;
/** Groups of the nearest bridge (802.1D): spanning tree, and one that nobody has yet. */
const OF_BRIDGES = ['01:80:c2:00:00:00', '01:80:c2:00:00:07'];
const LLDP = '01:80:c2:00:00:0e';

const ground = enforcedGround({ network: 'bridge' });

beforeAll(() => believesAtOnce('eth0'));

/** Else what was heard of an address by ARP holds for a second. */
function believesAtOnce(device: string): void {
  ground.exec('friend', 'sh', ['-c', `echo 0 > /proc/sys/net/ipv4/neigh/${device}/locktime`]);
}

interface Frame {
  readonly to: string;
  /** The sender's own where it is left out. */
  readonly from?: string;
  readonly type: readonly number[];
  readonly payload: Uint8Array;
}

function sendFrame(from: Host, frame: Frame): void {
  const mac = ground.mac(from);
  const socket = new FrameSocket(ground.path(from), ground.index(from), mac);
  const header = [...macBytes(frame.to), ...macBytes(frame.from ?? mac), ...frame.type];
  socket.sendRaw(Buffer.concat([Buffer.from(header), frame.payload]));
  socket.close();
}

/** "`address` is at `mac`" (RFC 826): an answer that nobody asked for. */
function arpAnswer(address: Address, mac: string): Uint8Array {
  const said = [...macBytes(mac), ...addressBytes(address)];
  return Uint8Array.from([0, 1, 8, 0, 6, 4, 0, 2, ...said, ...macBytes(EVERYBODY), ...addressBytes(address)]);
}

/** RARP, InARP, their answers, and what nobody has given a meaning (RFC 5494). */
const ODD_OPERATIONS = [0, 3, 4, 8, 9, 23, 25, 0x0100, 0xffff];

/** The same of RFC 4861: to be believed by whoever has the address in mind. */
function advertisement(from: Address, address: Address, mac: string): Uint8Array {
  const plain = packet({ from, to: 'ff02::1' as Address, protocol: 58 });
  const override = [136, 0, 0, 0, 0x20, 0, 0, 0];
  return withHops(withIcmp(plain, [...override, ...addressBytes(address), 2, 1, ...macBytes(mac)]), 255);
}

/** Where a host believes an address to be. */
function believed(host: Host, address: Address): string {
  return /lladdr (\S+)/.exec(ground.exec(host, 'ip', ['neigh', 'show', address]))?.[1] ?? 'nowhere';
}

/** Makes it known, as everyday traffic does. */
function makeKnown(address: Address, mac: string): void {
  ground.exec('friend', 'ip', [
    'neigh',
    'replace',
    address,
    'lladdr',
    mac,
    'nud',
    'reachable',
    'dev',
    'eth0',
  ]);
}

describe.each([
  ['another pod', () => ADDRESSES.victim, () => ground.mac('victim')],
  ['the gateway', () => GATEWAY, () => ground.mac('node', 'cni0')],
] as const)('a pod that says that it is %s', (_, addresses, mac) => {
  test('by ARP is not believed', async () => {
    makeKnown(addresses().ip, mac());
    const payload = arpAnswer(addresses().ip, ground.mac('attacker'));
    sendFrame('attacker', { to: EVERYBODY, type: ETHER.arp, payload });
    sendFrame('attacker', { to: ground.mac('friend'), type: ETHER.arp, payload });
    await settled();
    expect(believed('friend', addresses().ip)).toBe(mac());
  });

  test('by a neighbour advertisement is not believed, whoever it says that it is from', async () => {
    makeKnown(addresses().ip6, mac());
    const own = ADDRESSES.attacker.ip6;
    for (const from of [own, ground.linkLocal('attacker'), addresses().ip6]) {
      const payload = advertisement(from, addresses().ip6, ground.mac('attacker'));
      sendFrame('attacker', { to: ALL_NODES, type: ETHER.ip6, payload });
      sendFrame('attacker', { to: ground.mac('friend'), type: ETHER.ip6, payload });
    }
    await settled();
    expect(believed('friend', addresses().ip6)).toBe(mac());
  });

  test('by a neighbour advertisement in pieces, of which none is one, is not believed', async () => {
    makeKnown(addresses().ip6, mac());
    const whole = advertisement(ADDRESSES.attacker.ip6, addresses().ip6, ground.mac('attacker'));
    for (const payload of hiddenInPieces(whole, 7))
      sendFrame('attacker', { to: ground.mac('friend'), type: ETHER.ip6, payload });
    await settled();
    expect(believed('friend', addresses().ip6)).toBe(mac());
  });
});

test('a pod is believed by both of what is its own', async () => {
  const own = ground.mac('attacker');
  for (const family of FAMILIES) makeKnown(ADDRESSES.attacker[family], '0a:00:00:00:00:99');
  sendFrame('attacker', { to: EVERYBODY, type: ETHER.arp, payload: arpAnswer(ADDRESSES.attacker.ip, own) });
  const payload = advertisement(ADDRESSES.attacker.ip6, ADDRESSES.attacker.ip6, own);
  sendFrame('attacker', { to: ALL_NODES, type: ETHER.ip6, payload });
  await settled();
  for (const family of FAMILIES) expect(believed('friend', ADDRESSES.attacker[family])).toBe(own);
});

test('ARP of a pod is a request or an answer, and says the hardware address that the pod has', async () => {
  const { ip } = ADDRESSES.attacker;
  const counting = `table arp counted { chain input { type filter hook input priority 0; arp saddr ip ${ip} counter;\n}\n}`;
  ground.exec('friend', 'nft', ['-f', '-'], counting);
  const counted = () =>
    Number(
      /counter packets (\d+)/.exec(ground.exec('friend', 'nft', ['list', 'table', 'arp', 'counted']))![1],
    );
  const own = arpAnswer(ip, ground.mac('attacker'));
  const odd = ODD_OPERATIONS.map(operation =>
    Uint8Array.from([...own.subarray(0, 6), operation >> 8, operation & 255, ...own.subarray(8)]),
  );
  const elsewhere = [ground.mac('victim'), ground.mac('node', 'cni0'), EVERYBODY].map(mac =>
    arpAnswer(ip, mac),
  );
  for (const to of [EVERYBODY, ground.mac('friend')])
    for (const payload of [...odd, ...elsewhere]) sendFrame('attacker', { to, type: ETHER.arp, payload });
  // Behind the others: once it is counted they would be, too.
  sendFrame('attacker', { to: EVERYBODY, type: ETHER.arp, payload: own });
  await expect.poll(counted).toBeGreaterThan(0);
  expect(counted()).toBe(1);
});

describe('the bridge does not learn another pod’s hardware address by', () => {
  const stolen = () => ground.mac('victim');
  const portOf = (mac: string) =>
    ground
      .exec('node', 'bridge', ['fdb', 'show', 'br', 'cni0'])
      .split('\n')
      .filter(line => line.startsWith(mac) && !line.includes('permanent'))
      .map(line => /dev (\S+)/.exec(line)![1]);
  const ownFrame = (payload: Uint8Array, type: readonly number[]) =>
    sendFrame('victim', { to: ground.mac('friend'), type, payload });
  const udp = (from: Address, to: Address) => packet({ from, to, protocol: 'UDP', port: 9 });

  const tries: [string, () => Frame][] = [
    [
      'a packet',
      () => ({
        to: ground.mac('friend'),
        type: ETHER.ip,
        payload: udp(ADDRESSES.attacker.ip, ADDRESSES.friend.ip),
      }),
    ],
    [
      'a packet as it',
      () => ({
        to: ground.mac('friend'),
        type: ETHER.ip,
        payload: udp(ADDRESSES.victim.ip, ADDRESSES.friend.ip),
      }),
    ],
    [
      'a packet of IPv6',
      () => ({
        to: ground.mac('friend'),
        type: ETHER.ip6,
        payload: udp(ADDRESSES.attacker.ip6, ADDRESSES.friend.ip6),
      }),
    ],
    [
      'ARP',
      () => ({
        to: EVERYBODY,
        type: ETHER.arp,
        payload: arpAnswer(ADDRESSES.attacker.ip, ground.mac('attacker')),
      }),
    ],
    [
      'a frame of a type that nobody knows',
      () => ({ to: EVERYBODY, type: [0x88, 0xb5], payload: Buffer.alloc(50) }),
    ],
    ['a tagged frame', () => ({ to: EVERYBODY, type: [0x81, 0, 0, 0, 8, 0], payload: Buffer.alloc(50) })],
    ...OF_BRIDGES.map((to): [string, () => Frame] => [
      `a frame to ${to}`,
      () => ({ to, type: ETHER.ip, payload: Buffer.alloc(50) }),
    ]),
  ];

  test.each(tries)('%s', async (_, frame) => {
    ownFrame(udp(ADDRESSES.victim.ip, ADDRESSES.friend.ip), ETHER.ip);
    await settled();
    expect(portOf(stolen()), 'it has learned where it is').toEqual(['to-victim']);
    sendFrame('attacker', { ...frame(), from: stolen() });
    await settled();
    expect(portOf(stolen())).toEqual(['to-victim']);
  });

  test('LLDP, of which it asks its hooks since its agent has set it', async () => {
    const frame = { to: LLDP, from: stolen(), type: ETHER.ip, payload: Buffer.alloc(50) };
    const teach = async () => {
      ownFrame(udp(ADDRESSES.victim.ip, ADDRESSES.friend.ip), ETHER.ip);
      await settled();
      sendFrame('attacker', frame);
      await settled();
      return portOf(stolen());
    };
    expect(await teach()).toEqual(['to-victim']);
    ground.exec('node', 'ip', ['link', 'set', 'cni0', 'type', 'bridge', 'group_fwd_mask', '0']);
    expect(await teach(), 'as the kernel has it').toEqual(['to-attacker']);
    ground.exec('node', 'ip', ['link', 'set', 'cni0', 'type', 'bridge', 'group_fwd_mask', '0x4000']);
    expect(await teach()).toEqual(['to-victim']);
  });
});

test('a connection that is open takes nothing from a third', async () => {
  const ports = { protocol: 'UDP', port: 5000, sourcePort: 6000 } as const;
  const { friend, victim } = ADDRESSES;
  const asked = [packet({ from: friend.ip, to: victim.ip, ...ports })];
  const back = { ...ports, port: ports.sourcePort, sourcePort: ports.port };
  const answered = [packet({ from: victim.ip, to: friend.ip, ...back })];
  const [toVictim, toFriend] = [ground.mac('victim'), ground.mac('friend')];
  expect(await arrives(ground, { from: 'friend', to: 'victim', packets: asked, mac: toVictim })).toBe(true);
  expect(await arrives(ground, { from: 'victim', to: 'friend', packets: answered, mac: toFriend })).toBe(
    true,
  );
  expect(await arrives(ground, { from: 'attacker', to: 'victim', packets: asked, mac: toVictim })).toBe(
    false,
  );
});

test('a pod without an address asks for one', async () => {
  const discover = packet({
    from: '0.0.0.0' as Address,
    to: '255.255.255.255' as Address,
    protocol: 'UDP',
    port: 67,
    sourcePort: 68,
  });
  expect(await arrives(ground, { from: 'loose', to: 'node', packets: [discover], mac: EVERYBODY })).toBe(
    true,
  );
});

test('a bridge of others carries what it likes', async () => {
  const add = (...args: string[]) => ground.exec('node', 'ip', args);
  add('link', 'add', 'br-vm', 'type', 'bridge');
  for (const host of ['loose', 'friend'] as const) {
    add('link', 'add', `vm-${host}`, 'type', 'veth', 'peer', 'name', 'eth1', 'netns', ground.nameOf(host));
    add('link', 'set', `vm-${host}`, 'master', 'br-vm', 'up');
    ground.exec(host, 'ip', ['link', 'set', 'eth1', 'up']);
  }
  add('link', 'set', 'br-vm', 'up');
  believesAtOnce('eth1');
  await ground.enforce();
  ground.exec('friend', 'ip', [
    'neigh',
    'replace',
    '10.9.9.9',
    'lladdr',
    '0a:00:00:00:00:01',
    'dev',
    'eth1',
    'nud',
    'stale',
  ]);
  const mac = ground.mac('loose', 'eth1');
  const socket = new FrameSocket(ground.path('loose'), ground.index('loose', 'eth1'), mac);
  const frame = Buffer.concat([
    Buffer.from([...macBytes(EVERYBODY), ...macBytes('0a:00:00:00:00:02'), ...ETHER.arp]),
    arpAnswer('10.9.9.9' as Address, '0a:00:00:00:00:02'),
  ]);
  // A port of a bridge carries nothing for a moment after it is up.
  const said = () => {
    socket.sendRaw(frame);
    return believed('friend', '10.9.9.9' as Address);
  };
  await expect.poll(said).toBe('0a:00:00:00:00:02');
  socket.close();
});

/** Until what was sent has come where it comes: something that is sent behind it has. */
function settled(): Promise<void> {
  return control(ground, 'friend', 'ip');
}
