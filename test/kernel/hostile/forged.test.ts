/** A pod sends as itself, and nobody from elsewhere sends as a pod of this node (N70). */
import { describe, expect, test } from 'vitest';
import { address } from '../../../bench/lab/topology.ts';
import { type Address, FAMILIES, type Family } from '../../../src/model/address.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { arrives, hears } from './attack.ts';
import type { Heard } from './ear.ts';
import { enforcedGround } from './enforced.ts';
import { sendAsAnother } from './freebind.ts';
import { ADDRESSES, type Host, NETWORKS, OTHER_NODE } from './ground.ts';

const STRANGER = { ip: address('203.0.113.9'), ip6: address('2001:db8::9') };
const NOBODY = { ip: address('10.9.0.77'), ip6: address('fd09::77') };
const OTHER_POD = { ip: address('10.9.1.7'), ip6: address('fd09:1::7') };

const ALLOW_STRANGER = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'stranger', namespace: 'shop' },
  spec: {
    podSelector: { matchLabels: { app: 'victim' } },
    ingress: [
      {
        from: Object.values(STRANGER).map(ip => ({
          ipBlock: { cidr: `${ip}/${ip.includes(':') ? 128 : 32}` },
        })),
      },
    ],
  },
};

describe.each(NETWORKS)('%s', network => {
  const ground = enforcedGround({ network }, ALLOW_STRANGER);

  const udp = (source: Address, to: Host, family: Family) =>
    packet({ from: source, to: ADDRESSES[to][family], protocol: 'UDP', port: 53 });

  describe.each(FAMILIES)('%s', family => {
    test.each([
      ['an address of the Internet', STRANGER],
      ["another node's", OTHER_NODE],
      ["its own node's", ADDRESSES.node],
      ["another node's pod's", OTHER_POD],
    ])('a pod that sends from %s reaches nobody', async (_, source) => {
      for (const to of ['outside', 'node', 'victim'] as const) {
        const packets = [udp(source[family], to, family)];
        expect(await arrives(ground, { from: 'attacker', to, packets }), to).toBe(false);
      }
    });

    test('a pod that sends from an address that an ipBlock allows reaches nobody', async () => {
      const packets = [udp(STRANGER[family], 'victim', family)];
      expect(await arrives(ground, { from: 'attacker', to: 'victim', packets })).toBe(false);
      expect(await arrives(ground, { from: 'loose', to: 'victim', packets })).toBe(false);
      expect(await arrives(ground, { from: 'outside', to: 'victim', packets }), 'the peer itself').toBe(true);
    });

    test('a pod that sends from another pod of its node reaches nobody', async () => {
      for (const to of ['outside', 'node', 'victim'] as const) {
        const packets = [udp(ADDRESSES.friend[family], to, family)];
        const attack = { from: 'attacker', to, packets } as const;
        expect(await arrives(ground, attack), to).toBe(false);
        if (network === 'bridge' && to === 'victim')
          expect(await arrives(ground, { ...attack, mac: ground.mac('victim') }), 'by the bridge').toBe(
            false,
          );
      }
    });

    test.each([
      ['a pod that is allowed', ADDRESSES.friend],
      // Without a bridge the way to it is the default route: it is as good as any other address that nobody has.
      ...(network === 'bridge' ? [['an address of the pod network', NOBODY] as const] : []),
    ] as const)('what comes from outside as %s reaches no pod', async (_, source) => {
      for (const to of ['victim', 'friend', 'node'] as const) {
        const packets = [udp(source[family], to, family)];
        expect(await arrives(ground, { from: 'outside', to, packets }), to).toBe(false);
      }
    });
  });

  test('a pod without a capability sends as nobody else by IPV6_FREEBIND', async () => {
    const matches = ({ from }: Heard) => from === STRANGER.ip6;
    const what = { to: 'outside', family: 'ip6', protocol: 17, matches } as const;
    const act = () => sendAsAnother(ground.path('attacker'), STRANGER.ip6, ADDRESSES.outside.ip6, 53);
    expect(await hears(ground, what, act)).toBe(false);
  });
});
