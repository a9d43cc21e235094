/** What is for everybody reaches no pod from another pod: nobody could say whose policy judges it (N71). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { address } from '../../../bench/lab/topology.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { arrives } from './attack.ts';
import { enforcedGround } from './enforced.ts';
import { ADDRESSES, Ground, type Host, NETWORKS } from './ground.ts';

const GROUPS = [
  ['the limited broadcast', '255.255.255.255', 'ff:ff:ff:ff:ff:ff'],
  ['the broadcast of the pod network', '10.9.0.255', 'ff:ff:ff:ff:ff:ff'],
  ['all hosts', '224.0.0.1', '01:00:5e:00:00:01'],
  ['a group of IPv4', '239.1.2.3', '01:00:5e:01:02:03'],
  ['all nodes of the link', 'ff02::1', '33:33:00:00:00:01'],
  ['a group of IPv6', 'ff05::1:3', '33:33:00:01:00:03'],
] as const;

describe.each(NETWORKS)('%s', network => {
  const ground = enforcedGround({ network });

  describe.each(GROUPS)('%s', (_, group, groupMac) => {
    const family = group.includes(':') ? 'ip6' : 'ip';
    const datagram = (from: 'loose' | 'friend' | 'attacker') =>
      packet({ from: ADDRESSES[from][family], to: address(group), protocol: 'UDP', port: 5353 });

    test.each(['loose', 'friend', 'attacker'] as const)('%s does not reach other pods by it', async from => {
      for (const to of ['victim', 'friend'] as const) {
        if (to === from) continue;
        for (const mac of [groupMac, ground.mac(to)]) {
          expect(await arrives(ground, { from, to, packets: [datagram(from)], mac }), `${to} ${mac}`).toBe(
            false,
          );
        }
      }
    });

    test('a pod that may send nothing does not reach the node by it', async () => {
      const reaches = (packets: Uint8Array[]) =>
        arrives(ground, { from: 'attacker', to: 'node', packets, mac: groupMac });
      expect(await reaches([datagram('attacker')])).toBe(false);
      // From no address, as who has none yet (N69).
      const none = address(family === 'ip' ? '0.0.0.0' : '::');
      for (const protocol of ['UDP', 'ICMP', 2] as const) {
        const port = protocol === 'UDP' ? { port: 5353 } : {};
        expect(
          await reaches([packet({ from: none, to: address(group), protocol, ...port })]),
          `${protocol}`,
        ).toBe(false);
      }
    });
  });
});

describe('a bridge whose network is another than the node’s pod networks', () => {
  const ground = new Ground({ network: 'bridge' });
  beforeAll(async () => {
    await ground.build();
    const give = (host: Host, device: string, own: string, broadcast: string) =>
      ground.exec(host, 'ip', ['addr', 'add', own, 'broadcast', broadcast, 'dev', device]);
    // What a plugin with one network for the whole cluster gives it and its pods, and what somebody may by hand.
    for (const [host, device, last] of [
      ['node', 'cni0', 1],
      ['victim', 'eth0', 2],
    ] as const) {
      give(host, device, `10.9.100.${last}/16`, '10.9.255.255');
      give(host, device, `10.9.100.1${last}/16`, '10.9.77.77');
    }
    await ground.enforce();
  });
  afterAll(() => ground.remove());

  test.each(['10.9.255.255', '10.9.77.77', '10.9.0.255'])('%s reaches no pod', async group => {
    const packets = [
      packet({ from: ADDRESSES.loose.ip, to: address(group), protocol: 'UDP' as const, port: 5353 }),
    ];
    for (const mac of ['ff:ff:ff:ff:ff:ff', ground.mac('victim')])
      expect(await arrives(ground, { from: 'loose', to: 'victim', packets, mac }), mac).toBe(false);
  });
});
