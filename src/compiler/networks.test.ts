import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Address,
  addressFromInt,
  addressToInt,
  type Cidr,
  cidrContains,
  parseCidr,
} from '../model/address.ts';
import type { NetworkPeer } from '../model/policy.ts';
import { peerRanges, rangesContain, rangeText } from './networks.ts';

function network(cidr: string, ...except: readonly string[]): NetworkPeer {
  return { kind: 'network', cidr: parseCidr(cidr)!, except: except.map(text => parseCidr(text)!) };
}

/** Networks of the last eight bits of 10.0.0.0/24: few enough to ask every address. */
const cidrArbitrary = fc
  .tuple(fc.nat(255), fc.integer({ min: 24, max: 32 }))
  .map(([last, prefix]): Cidr => parseCidr(`10.0.0.${last}/${prefix}`)!);

const peersArbitrary = fc.array(
  fc.record({
    kind: fc.constant('network' as const),
    cidr: cidrArbitrary,
    except: fc.array(cidrArbitrary, { maxLength: 40 }),
  }),
  { maxLength: 5 },
);

const EVERYBODY: readonly Address[] = Array.from({ length: 256 }, (_, i) =>
  addressFromInt('ip', (10n << 24n) + BigInt(i)),
);

describe('rangesOf()', () => {
  test('holds an address where a network does and none of its exceptions', () => {
    fc.assert(
      fc.property(peersArbitrary, peers => {
        const ranges = peerRanges(peers);
        for (const address of EVERYBODY) {
          const value = addressToInt(address);
          const held = ranges.some(({ first, last }) => first <= value && value <= last);
          const meant = peers.some(
            ({ cidr, except }) =>
              cidrContains(cidr, address) && !except.some(hole => cidrContains(hole, address)),
          );
          expect(`${address} ${held}`).toBe(`${address} ${meant}`);
          expect(rangesContain(ranges, value)).toBe(held);
        }
      }),
    );
  });

  test('is in order, and no range meets or touches the next', () => {
    fc.assert(
      fc.property(peersArbitrary, peers => {
        const ranges = peerRanges(peers);
        ranges.slice(1).forEach((range, i) => {
          expect(range.first).toBeGreaterThan(ranges[i]!.last + 1n);
        });
      }),
    );
  });
});

describe('rangeText()', () => {
  test.each([
    [[network('10.0.0.0/8')], ['10.0.0.0/8']],
    [[network('10.0.0.0/9'), network('10.128.0.0/9')], ['10.0.0.0/8']],
    [[network('10.0.0.0/8', '10.0.0.0/9')], ['10.128.0.0/9']],
    [[network('10.0.0.0/30', '10.0.0.0/32')], ['10.0.0.1-10.0.0.3']],
    [[network('10.0.0.0/8'), network('10.1.0.0/16')], ['10.0.0.0/8']],
    [[network('0.0.0.0/0')], ['0.0.0.0/0']],
    [[network('fd00::/8', 'fd00::/16')], ['fd01::-fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff']],
    [[network('10.0.0.0/8', '10.0.0.0/8')], []],
  ])('%j is %j', (peers, texts) => {
    expect(peerRanges(peers).map(rangeText)).toEqual(texts);
  });
});
