import { expect, test } from 'vitest';
import { addressIn } from '../nft/match.ts';
import { plan } from '../nft/plan/plan.ts';
import { MEMBER, type NftSet, type Ruleset } from '../nft/ruleset.ts';
import { withPreparedSets } from './prepared.ts';

function set(name: string): [string, NftSet] {
  const elements = new Map([['10.0.0.1', MEMBER]]);
  return [name, { name, key: ['ipv4_addr'], verdicts: false, interval: false, elements }];
}

/** A table with these sets, of which a rule names some. */
function ruleset(names: readonly string[], named: readonly string[]): Ruleset {
  const rules = named.map(name => ({ exprs: addressIn('ip', 'saddr', name) }));
  const chains = new Map([['in', { name: 'in', rules }]]);
  return { tables: new Map([['ip', { sets: new Map(names.map(set)), chains }]]) };
}

const DESIRED = ruleset(['peers-a'], ['peers-a']);

test('a set of peers that no rule names yet is no difference', () => {
  const programmed = ruleset(['peers-a', 'peers-b', 'others-c', 'named-d'], ['peers-a']);
  expect(plan(programmed, withPreparedSets(DESIRED, programmed))).toEqual([]);
});

test.each([
  ['that a rule names', ruleset(['peers-a', 'peers-b'], ['peers-a', 'peers-b']), 'delSet'],
  ['of another kind', ruleset(['peers-a', 'nets-b'], ['peers-a']), 'delSet'],
  ['that is missing', ruleset([], []), 'addSet'],
])('a set %s is one', (_, programmed, op) => {
  const difference = plan(programmed, withPreparedSets(DESIRED, programmed));
  expect(difference.map(step => step.op)).toContain(op);
});
