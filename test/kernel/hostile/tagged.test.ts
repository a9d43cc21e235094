/**
 * Frames with a VLAN tag of number 0 are for their receiver as if they had none, and for br_netfilter no packets of IP:
 * between pods of a bridge they pass no rule of ours. The check `pod-sources` says so, and names what closes it.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TAGGED_FRAMES_REMEDY } from '../../../src/health/bypasschecks.ts';
import { FAMILIES } from '../../../src/model/address.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { arrives } from './attack.ts';
import { ADDRESSES, Ground } from './ground.ts';

const TAGS = [
  ['one', [0x8100]],
  ['one of a provider', [0x88a8]],
  ['two', [0x88a8, 0x8100]],
] as const;

let ground: Ground;

beforeAll(async () => {
  ground = await Ground.build({ network: 'bridge' });
  await ground.enforce();
});

afterAll(() => ground?.remove());

async function arriving(): Promise<string[]> {
  const found: string[] = [];
  for (const family of FAMILIES)
    for (const [name, tags] of TAGS) {
      const ends = { from: ADDRESSES.loose[family], to: ADDRESSES.victim[family] };
      const packets = [packet({ ...ends, protocol: 'UDP', port: 53 })];
      const mac = ground.mac('victim');
      if (await arrives(ground, { from: 'loose', to: 'victim', packets, mac, tags }))
        found.push(`${family} ${name}`);
    }
  return found;
}

test('tagged frames between pods of a bridge pass our rules, and not what the check tells to load', async () => {
  expect(await arriving()).not.toEqual([]);
  ground.exec('node', 'nft', ['-f', '-'], TAGGED_FRAMES_REMEDY);
  expect(await arriving()).toEqual([]);
  const plain = packet({ from: ADDRESSES.friend.ip, to: ADDRESSES.victim.ip, protocol: 'TCP', port: 80 });
  expect(await arrives(ground, { from: 'friend', to: 'victim', packets: [plain] })).toBe(true);
});
