/**
 * Frames with a VLAN tag of number 0 are for their receiver as if they had none, and for br_netfilter no packets of IP:
 * between pods of a bridge no rule of IP would see them.
 */
import { describe, expect, test } from 'vitest';
import { FAMILIES } from '../../../src/model/address.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { arrives } from './attack.ts';
import { enforcedGround } from './enforced.ts';
import { ADDRESSES, Ground } from './ground.ts';

const TAGS = [
  ['one', [0x8100]],
  ['one of a provider', [0x88a8]],
  ['two', [0x88a8, 0x8100]],
] as const;

const ground = enforcedGround({ network: 'bridge' });

describe.each(FAMILIES)('%s', family => {
  const tagged = (tags: readonly number[]) => {
    const ends = { from: ADDRESSES.loose[family], to: ADDRESSES.victim[family] };
    const packets = [packet({ ...ends, protocol: 'UDP', port: 53 })];
    return { from: 'loose', to: 'victim', packets, mac: ground.mac('victim'), tags } as const;
  };

  test.each(TAGS)('a frame with a tag, %s, reaches no other pod', async (_, tags) => {
    expect(await arrives(ground, tagged(tags))).toBe(false);
  });

  test('and would without our table of bridges', async () => {
    const open = await Ground.build({ network: 'bridge' });
    try {
      await open.enforce();
      await open.withoutBridgeTable();
      expect(await arrives(open, { ...tagged([0x8100]), mac: open.mac('victim') })).toBe(true);
    } finally {
      open.remove();
    }
  });
});
