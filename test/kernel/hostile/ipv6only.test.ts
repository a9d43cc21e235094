/** The same where pods and nodes have IPv6 alone: nothing of what keeps them apart is known by an address of IPv4. */
import { describe, expect, test } from 'vitest';
import type { Address } from '../../../src/model/address.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { type Attack, arrives } from './attack.ts';
import { enforcedGround } from './enforced.ts';
import { ADDRESSES, type GroundOptions, type Host } from './ground.ts';

const NETWORKS: readonly (readonly [string, GroundOptions])[] = [
  ['a bridge', { network: 'bridge' }],
  ['links of others', { network: 'ptp' }],
  ['links of our own', { network: 'ptp', podLinks: 'ours' }],
];

describe.each(NETWORKS)('%s', (_, options) => {
  const ground = enforcedGround({ ...options, families: ['ip6'] });

  const at = (host: Host) => ADDRESSES[host].ip6;
  const datagram = (from: Address, to: Address) => [packet({ from, to, protocol: 'UDP', port: 53 })];
  const comes = (from: Host, to: Host, source = at(from), way: Pick<Attack, 'mac'> = {}) =>
    arrives(ground, { from, to, packets: datagram(source, at(to)), ...way });

  test('policy decides who reaches whom', async () => {
    // What leaves the node by links of our own is translated, and no longer what was sent.
    const denied: readonly Host[] = [
      'node',
      'friend',
      ...(options.podLinks === 'ours' ? [] : (['outside'] as const)),
    ];
    for (const to of denied) expect(await comes('attacker', to), to).toBe(false);
    for (const from of ['loose', 'outside'] as const) expect(await comes(from, 'victim'), from).toBe(false);
    expect(await comes('friend', 'victim')).toBe(true);
    expect(await comes('loose', 'node')).toBe(true);
    expect(await comes('outside', 'loose')).toBe(true);
  });

  test('nobody sends as another', async () => {
    for (const to of ['victim', 'node'] as const)
      for (const source of [at('friend'), at('node'), ground.linkLocal('loose')])
        expect(await comes('loose', to, source), `${source} to ${to}`).toBe(false);
    expect(await comes('outside', 'victim', at('friend'))).toBe(false);
    if (options.network === 'bridge')
      expect(await comes('loose', 'victim', at('friend'), { mac: ground.mac('victim') })).toBe(false);
  });

  test('nobody sends to everybody of the link', async () => {
    const packets = datagram(at('loose'), 'ff02::1' as Address);
    expect(await arrives(ground, { from: 'loose', to: 'victim', packets, mac: '33:33:00:00:00:01' })).toBe(
      false,
    );
  });

  test('what pods send by IPv4, which none of them has, comes to nobody', async () => {
    const sources = [ADDRESSES.loose.ip, ADDRESSES.friend.ip, '0.0.0.0' as Address, '169.254.1.1' as Address];
    for (const to of ['victim', 'node'] as const)
      for (const source of sources) {
        const packets = datagram(
          source,
          to === 'node' ? ('255.255.255.255' as Address) : ADDRESSES.victim.ip,
        );
        const mac =
          options.network === 'bridge' ? 'ff:ff:ff:ff:ff:ff' : ground.mac('node', ground.port('loose'));
        expect(await arrives(ground, { from: 'loose', to, packets, mac }), `${source} to ${to}`).toBe(false);
      }
  });
});
