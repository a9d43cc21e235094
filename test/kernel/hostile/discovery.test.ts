/** Neighbour discovery goes no further than its link, and pods are no routers (N63). */
import { describe, expect, test } from 'vitest';
import { addressBytes } from '../../../src/model/address.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { arrives } from './attack.ts';
import { withHops, withIcmp } from './craft.ts';
import { enforcedGround } from './enforced.ts';
import { ADDRESSES, type Host, NETWORKS } from './ground.ts';

const TYPES = [133, 134, 135, 136, 137] as const;
const ICMPV6 = 58;

describe.each(NETWORKS)('%s', network => {
  const ground = enforcedGround({ network });

  const PAYLOAD = Array.from(Buffer.from('not what it says that it is, but all that is kept here')); // 54 bytes

  const discovery = (from: Host, to: Host, type: number, hops: number) => {
    const plain = packet({ from: ADDRESSES[from].ip6, to: ADDRESSES[to].ip6, protocol: ICMPV6 });
    // RFC 4861: solicitations and advertisements name whom they are about; on a bridge a pod advertises itself alone.
    const about = addressBytes(ADDRESSES[from].ip6);
    return withHops(withIcmp(plain, [type, 0, 0, 0, 0, 0, 0, 0, ...about, ...PAYLOAD]), hops);
  };

  describe.each(TYPES)('type %i', type => {
    test.each([64, 255])('is not routed, with %i hops left', async hops => {
      for (const [from, to] of [
        ['attacker', 'outside'],
        ['outside', 'victim'],
      ] as const) {
        const packets = [discovery(from, to, type, hops)];
        expect(await arrives(ground, { from, to, packets }), `${from} to ${to}`).toBe(false);
      }
    });

    test('does not reach the node or a pod with fewer than 255 hops left', async () => {
      const toNode = {
        from: 'attacker',
        to: 'node',
        packets: [discovery('attacker', 'node', type, 254)],
      } as const;
      expect(await arrives(ground, toNode)).toBe(false);
      const toPod = {
        from: 'attacker',
        to: 'victim',
        packets: [discovery('attacker', 'victim', type, 254)],
      } as const;
      expect(await arrives(ground, { ...toPod, mac: ground.mac('victim') })).toBe(false);
    });
  });

  test.each([
    ['a router advertisement', 134],
    ['a redirect', 137],
  ])('%s of a pod reaches nobody', async (_, type) => {
    const mac = ground.mac('victim');
    const toPod = {
      from: 'attacker',
      to: 'victim',
      packets: [discovery('attacker', 'victim', type, 255)],
    } as const;
    expect(await arrives(ground, { ...toPod, mac })).toBe(false);
    const toNode = {
      from: 'attacker',
      to: 'node',
      packets: [discovery('attacker', 'node', type, 255)],
    } as const;
    expect(await arrives(ground, toNode)).toBe(false);
  });

  test('a router advertisement from outside reaches the node', async () => {
    const packets = [discovery('outside', 'node', 134, 255)];
    expect(await arrives(ground, { from: 'outside', to: 'node', packets })).toBe(true);
  });

  test('solicitations and advertisements of neighbours reach the node, and on a bridge the pods', async () => {
    for (const type of [135, 136]) {
      const toNode = {
        from: 'attacker',
        to: 'node',
        packets: [discovery('attacker', 'node', type, 255)],
      } as const;
      expect(await arrives(ground, toNode)).toBe(true);
      if (network !== 'bridge') continue;
      const toPod = {
        from: 'attacker',
        to: 'victim',
        packets: [discovery('attacker', 'victim', type, 255)],
      } as const;
      expect(await arrives(ground, { ...toPod, mac: ground.mac('victim') })).toBe(true);
    }
  });
});
