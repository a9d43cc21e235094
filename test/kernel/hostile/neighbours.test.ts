/** A pod keeps no neighbour of its bridge from its address, and from being found (N70). */
import { setTimeout } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { address } from '../../../bench/lab/topology.ts';
import { type Address, addressBytes } from '../../../src/model/address.ts';
import { macBytes } from '../../../src/model/mac.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { arrives } from './attack.ts';
import { hiddenInPieces, withHops, withIcmp, withTransport } from './craft.ts';
import { enforcedGround } from './enforced.ts';
import { FrameSocket } from './frame.ts';
import { ADDRESSES } from './ground.ts';

const NOBODY = { ip: address('0.0.0.0'), ip6: address('::') };
/** friend has it soon. */
const NEW = address('fd09::77');
const ALL_NODES = '33:33:00:00:00:01';
const PROBED = '33:33:ff:00:00:77';
const EVERYBODY = 'ff:ff:ff:ff:ff:ff';

const ground = enforcedGround({ network: 'bridge' });

function socketOf(host: 'attacker' | 'loose'): FrameSocket {
  return new FrameSocket(ground.path(host), ground.index(host), ground.mac(host));
}

/** "Has anybody `address`?" (RFC 4862): whoever is about to take it gives it up. */
function probe(target: Address, to = address('ff02::1')): Uint8Array {
  const plain = packet({ from: NOBODY.ip6, to, protocol: 58 });
  return withHops(withIcmp(plain, [135, 0, 0, 0, 0, 0, 0, 0, ...addressBytes(target)]), 255);
}

test('a pod that asks for the address that its neighbour is about to take does not keep it from it', async () => {
  for (const scope of ['all', 'eth0'])
    ground.exec('friend', 'sh', ['-c', `echo 1 > /proc/sys/net/ipv6/conf/${scope}/accept_dad`]);
  const state = () => ground.exec('friend', 'ip', ['-6', 'address', 'show', 'dev', 'eth0', 'to', NEW]);
  const socket = socketOf('attacker');
  try {
    ground.exec('friend', 'ip', ['address', 'add', `${NEW}/64`, 'dev', 'eth0']);
    for (let tries = 0; tries < 600 && /tentative/.test(state()) && !/dadfailed/.test(state()); tries++) {
      socket.send(probe(NEW, address('ff02::1:ff00:77')), PROBED);
      await setTimeout(20);
    }
  } finally {
    socket.close();
  }
  expect(state()).toContain(NEW);
  expect(state()).not.toContain('tentative');
});

describe('a probe of IPv6', () => {
  test.each([
    ['of an address that the pod has', ADDRESSES.loose.ip6, true],
    ['of its neighbour’s', ADDRESSES.victim.ip6, false],
    ['of one that nobody has yet', address('fd09::99'), false],
  ])('%s', async (_, target, passes) => {
    for (const to of ['node', 'friend'] as const) {
      const attack = { from: 'loose', to, packets: [probe(target)], mac: ALL_NODES } as const;
      expect(await arrives(ground, attack), to).toBe(passes);
    }
  });
});

test('a probe by ARP passes for an address that the pod has, and for no other', async () => {
  ground.exec('friend', 'nft', ['-f', '-'], COUNT_PROBES);
  const socket = socketOf('loose');
  const ask = (target: Address) => {
    const own = macBytes(ground.mac('loose'));
    const said = [0, 1, 8, 0, 6, 4, 0, 1, ...own, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ...addressBytes(target)];
    socket.sendRaw(Uint8Array.from([...macBytes(EVERYBODY), ...own, 8, 6, ...said]));
  };
  const counted = () =>
    Number(/counter packets (\d+)/.exec(ground.exec('friend', 'nft', ['list', 'ruleset']))![1]);
  try {
    for (const target of [ADDRESSES.victim.ip, address('10.9.0.99')]) ask(target);
    ask(ADDRESSES.loose.ip); // Behind the others: once it is counted they would be, too.
    for (let waits = 0; counted() === 0 && waits < 500; waits++) await setTimeout(20);
    expect(counted()).toBe(1);
  } finally {
    socket.close();
  }
});

const COUNT_PROBES = `table arp probes {
  chain input { type filter hook input priority 0; arp saddr ip 0.0.0.0 counter; }
}`;

/** RFC 2710: with the router alert that a bridge asks for; to be answered at once. */
function listenerQuery(): Uint8Array {
  const plain = packet({ from: ground.linkLocal('attacker'), to: address('ff02::1'), protocol: 58 });
  const query = withIcmp(plain, [130, 0, 0, 0, 0, 1, 0, 0, ...Array<number>(16).fill(0)]);
  const alert = Buffer.from([58, 0, 5, 2, 0, 0, 1, 0]);
  return withHops(withTransport(query, Buffer.concat([alert, query.subarray(40)]), 0), 1);
}

test.each([
  ['asks', () => [listenerQuery()]],
  ['asks in pieces, of which none is a query,', () => hiddenInPieces(listenerQuery(), 9)],
])('a pod that %s who listens to what keeps no neighbour from being found', async (_, asked) => {
  const groups = () =>
    [...ground.exec('node', 'bridge', ['mdb', 'show']).matchAll(/port to-victim grp (\S+)/g)].map(
      ([, group]) => group!,
    );
  const socket = socketOf('attacker');
  try {
    for (let times = 0; times < 3; times++) for (const each of asked()) socket.send(each, ALL_NODES);
  } finally {
    socket.close();
  }
  await setTimeout(20); // So long it waits for answers.
  // As it is when their time has run out, 260 s after the last report.
  for (const group of groups())
    ground.exec('node', 'bridge', ['mdb', 'del', 'dev', 'cni0', 'port', 'to-victim', 'grp', group]);
  ground.exec('node', 'ip', ['neigh', 'flush', 'all']);
  ground.exec('node', 'bash', ['-c', `echo > /dev/udp/${ADDRESSES.victim.ip6}/9`]);
  const found = () => ground.exec('node', 'ip', ['neigh', 'show', ADDRESSES.victim.ip6]);
  for (let waits = 0; !/REACHABLE|FAILED/.test(found()) && waits < 500; waits++) await setTimeout(20);
  expect(found()).toContain('REACHABLE');
});
