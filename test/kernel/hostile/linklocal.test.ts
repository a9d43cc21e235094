/** IPv6 link-local addresses belong to no pod that policy knows: nothing but neighbour discovery comes from them (N69). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Family } from '../../../src/model/address.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { arrives } from './attack.ts';
import { ADDRESSES, Ground, NETWORKS } from './ground.ts';

const CLUSTERS: readonly (readonly [string, readonly Family[]])[] = [
  ['dual-stack', ['ip', 'ip6']],
  ['IPv4-only', ['ip']],
];

describe.each(
  NETWORKS.flatMap(network => CLUSTERS.map(([name, families]) => [network, name, families] as const)),
)('%s, %s', (network, _, families) => {
  let ground: Ground;

  beforeAll(async () => {
    ground = await Ground.build({ network, families });
    await ground.enforce();
  });

  afterAll(() => ground?.remove());

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
