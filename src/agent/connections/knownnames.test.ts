import { expect, it } from 'vitest';
import type { Address } from '../../model/address.ts';
import { DnsCache } from '../../names/dnscache.ts';
import type { Subjects } from '../../names/subjects.ts';
import type { NftSet, Ruleset } from '../../nft/ruleset.ts';
import { withKnownNames } from './knownnames.ts';

const SUBJECTS: Subjects = {
  pods: [{ key: 'shop/web', addresses: ['10.1.0.1' as Address], sets: ['names-A'] }],
  sets: [{ name: 'names-A', patterns: ['*.example.org'], command: 2 }],
};
const SET: NftSet = {
  name: 'names-A',
  key: ['ipv4_addr', 'ipv4_addr'],
  verdicts: false,
  interval: false,
  dynamic: { size: 16 },
  elements: new Map(),
};
const RULESET: Ruleset = {
  tables: new Map([['ip', { sets: new Map([['names-A', SET]]), chains: new Map() }]]),
};

function holds(cache: DnsCache | undefined, key: string): boolean {
  const ruleset = withKnownNames(RULESET, { subjects: SUBJECTS, cache });
  return ruleset.tables.get('ip')!.sets.get('names-A')!.elements.get(key) !== undefined;
}

it('has in a set of names what its pods were ever told, and nothing else', () => {
  const cache = new DnsCache();
  cache.record([
    { pod: 'shop/web', address: '192.0.2.1' as Address, name: 'www.example.org', toldMs: 0, untilMs: 0 },
  ]);
  expect(holds(cache, '10.1.0.1 . 192.0.2.1')).toBe(true);
  expect(holds(cache, '10.1.0.1 . 192.0.2.2')).toBe(false);
  expect(holds(cache, '10.1.0.2 . 192.0.2.1')).toBe(false);
});

it('cuts nothing for a name before it is known what was told', () => {
  expect(holds(undefined, '10.1.0.1 . 192.0.2.1')).toBe(true);
});

it('leaves the rules as they are where nobody hears', () => {
  expect(withKnownNames(RULESET, undefined)).toBe(RULESET);
});
