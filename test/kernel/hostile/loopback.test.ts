/** N71: where the kernel delivers packets to loopback addresses by other links, a pod reaches none of its node. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { address } from '../../../bench/lab/topology.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { arrives } from './attack.ts';
import { ADDRESSES, Ground, NETWORKS } from './ground.ts';

describe.each(NETWORKS)('%s', network => {
  const ground = new Ground({ network });
  beforeAll(() => ground.build());
  afterAll(() => ground.remove());

  const from = ADDRESSES.loose.ip;
  const attack = (to: string) =>
    ({
      from: 'loose',
      to: 'node',
      packets: [packet({ from, to: address(to), protocol: 'UDP', port: 7777 })],
    }) as const;

  test('a loopback address of the node hears a pod without rules alone', async () => {
    ground.exec('node', 'sysctl', ['-qw', 'net.ipv4.conf.all.route_localnet=1']);
    for (const to of ['127.0.0.1', '127.1.2.3']) expect(await arrives(ground, attack(to)), to).toBe(true);
    await ground.enforce();
    for (const to of ['127.0.0.1', '127.1.2.3']) expect(await arrives(ground, attack(to)), to).toBe(false);
    expect(await arrives(ground, attack(ADDRESSES.node.ip)), 'what the pod may reach of its node').toBe(true);
  });
});
