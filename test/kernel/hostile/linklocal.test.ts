/** IPv6 link-local addresses belong to no pod that policy knows: nothing but neighbour discovery comes from them (N69). */
import { describe, expect, test } from 'vitest';
import { address } from '../../../bench/lab/topology.ts';
import type { Address, Family } from '../../../src/model/address.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { arrives } from './attack.ts';
import { withHops, withIcmp } from './craft.ts';
import { enforcedGround } from './enforced.ts';
import { ADDRESSES, NETWORKS } from './ground.ts';

const CLUSTERS: readonly (readonly [string, readonly Family[]])[] = [
  ['dual-stack', ['ip', 'ip6']],
  ['IPv4-only', ['ip']],
];

describe.each(
  NETWORKS.flatMap(network => CLUSTERS.map(([name, families]) => [network, name, families] as const)),
)('%s, %s', (network, _, families) => {
  const ground = enforcedGround({ network, families });

  /** From the pod's link-local address to the one of the node's at its link. */
  const toNode = (from: 'attacker' | 'loose', protocol: 'TCP' | 'UDP') =>
    packet({
      from: ground.linkLocal(from),
      to: ground.linkLocal('node', ground.port(from)),
      protocol,
      port: 10250,
    });

  test.each(['TCP', 'UDP'] as const)('%s does not reach the node', async protocol => {
    const attack = { from: 'attacker', to: 'node', packets: [toNode('attacker', protocol)] } as const;
    expect(await arrives(ground, attack)).toBe(false);
  });

  const ALL_NODES = address('ff02::1');
  const TO_GROUP = '33:33:00:00:00:01';
  const icmp = (from: Address, to: Address, type: number) => {
    const plain = packet({ from, to, protocol: 58 });
    return withHops(withIcmp(plain, [type, 0, 0, 0, 0, 0, 0, 0, ...Buffer.from('all that is kept here')]), 1);
  };

  test.each([131, 132, 143])('a listener report (%i) is for a group, and of the link', async type => {
    const own = ground.linkLocal('attacker');
    const node = ground.linkLocal('node', ground.port('attacker'));
    const reaches = (from: Address, to: Address, mac?: string) =>
      arrives(ground, {
        from: 'attacker',
        to: 'node',
        packets: [icmp(from, to, type)],
        ...(mac !== undefined && { mac }),
      });
    expect(await reaches(own, ALL_NODES, TO_GROUP), 'an honest one').toBe(true);
    expect(await reaches(address('::'), ALL_NODES, TO_GROUP), 'while it has no address').toBe(true);
    expect(await reaches(own, node), 'to the node alone').toBe(false);
    for (const from of [ADDRESSES.attacker.ip6, ADDRESSES.outside.ip6, ADDRESSES.friend.ip6])
      for (const to of [ADDRESSES.node.ip6, node])
        expect(await reaches(from, to), `${from} ${to}`).toBe(false);
    expect(await reaches(ADDRESSES.outside.ip6, ALL_NODES, TO_GROUP), 'as somebody else').toBe(false);
  });

  test('a pod asks nobody which groups they want: that is a router’s', async () => {
    for (const from of [ground.linkLocal('attacker'), ADDRESSES.attacker.ip6, address('::')]) {
      const attack = {
        from: 'attacker',
        to: 'node',
        packets: [icmp(from, ALL_NODES, 130)],
        mac: TO_GROUP,
      } as const;
      expect(await arrives(ground, attack), from).toBe(false);
    }
  });

  if (network === 'bridge')
    test.each(['TCP', 'UDP'] as const)('%s does not reach another pod', async protocol => {
      const ends = { from: ground.linkLocal('attacker'), to: ground.linkLocal('victim') };
      const packets = [packet({ ...ends, protocol, port: 80 })];
      expect(
        await arrives(ground, { from: 'attacker', to: 'victim', packets, mac: ground.mac('victim') }),
      ).toBe(false);
    });

  if (network === 'bridge' && families.includes('ip6'))
    test('a pod does not reach the link-local address of another by its own global one', async () => {
      const ends = { from: ADDRESSES.loose.ip6, to: ground.linkLocal('victim') };
      const packets = [packet({ ...ends, protocol: 'UDP', port: 80 })];
      const attack = { from: 'loose', to: 'victim', packets, mac: ground.mac('victim') } as const;
      expect(await arrives(ground, attack)).toBe(false);
    });
});
