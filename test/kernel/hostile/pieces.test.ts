/** What a node makes of the pieces of a packet is judged as what it is, and by its sender (N70). */
import { expect, test } from 'vitest';
import { address } from '../../../bench/lab/topology.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { arrives } from './attack.ts';
import { changedByReassembly, fragmentsOf, lengthened, transportOf, withIcmp } from './craft.ts';
import { enforcedGround } from './enforced.ts';
import { ADDRESSES } from './ground.ts';

const ground = enforcedGround({ network: 'bridge' });

test('a pod sends as nobody else by what the node makes of the pieces of a packet', async () => {
  const changed = address('fd09::1100:0:0:11');
  for (const to of ['outside', 'node', 'friend'] as const) {
    const [own, whole] = [ADDRESSES.attacker.ip6, changed].map(from =>
      packet({ from, to: ADDRESSES[to].ip6, protocol: 'UDP', port: 9 }),
    );
    const packets = changedByReassembly(own!, whole!, 0x11);
    expect(
      await arrives(ground, { from: 'attacker', to, packets, heard: transportOf(whole!), protocol: 17 }),
      to,
    ).toBe(false);
  }
});

test.each([
  ['a datagram', 'UDP', 17],
  ['an echo request', 'ICMP', 58],
] as const)('the pieces of %s reach a pod of the bridge', async (_, protocol, number) => {
  const plain = packet({ from: ADDRESSES.loose.ip6, to: ADDRESSES.friend.ip6, protocol });
  const whole =
    protocol === 'UDP' ? lengthened(plain) : withIcmp(plain, [...transportOf(plain), ...Buffer.alloc(40)]);
  const attack = {
    from: 'loose',
    to: 'friend',
    packets: fragmentsOf(whole, 16),
    heard: transportOf(whole),
    protocol: number,
  } as const;
  expect(await arrives(ground, { ...attack, mac: ground.mac('friend') })).toBe(true);
});
