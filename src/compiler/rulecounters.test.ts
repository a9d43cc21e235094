import { expect, test } from 'vitest';
import { layoutCluster } from '../../test/support/agent/layouts.ts';
import type { Policy } from '../model/policy.ts';
import { EVERYTHING } from '../model/selector.ts';
import { plan } from '../nft/plan/plan.ts';
import type { NftRule, NftVerdict, Ruleset } from '../nft/ruleset.ts';
import { compile } from './compile.ts';
import { isCounted, ruleCountersIn, withRuleCounters } from './rulecounters.ts';

/** Allows all peers, so that the element of the port map decides. */
const OPEN: Policy = {
  id: 'NetworkPolicy probe/open',
  kind: 'NetworkPolicy',
  name: 'probe/open',
  tier: 'networkpolicy',
  order: 0,
  subject: { namespaces: { kind: 'name', name: 'probe' }, pods: EVERYTHING },
  ingress: [
    {
      path: 'ingress[0]',
      action: 'accept',
      peers: 'any',
      ports: [80, 443].map(port => ({ kind: 'range', protocol: 'TCP', first: port, last: port })),
    },
  ],
};

function ruleset(): Ruleset {
  const state = layoutCluster();
  state.apply({ type: 'policy', key: OPEN.id, value: OPEN });
  return compile(state, 'n1', 'deny', 'ours');
}

const chainsOf = ({ tables }: Ruleset) => [...tables.values()].flatMap(({ chains }) => [...chains.values()]);
const isCounting = ({ exprs }: NftRule) => exprs.some(({ kind }) => kind === 'counter');
const verdictOf = ({ exprs }: NftRule): NftVerdict | undefined => {
  const last = exprs.at(-1);
  return last?.kind === 'verdict' ? last.verdict : undefined;
};

test.each([
  ['times', ['counter']],
  ['times and last', ['counter', 'last']],
] as const)(
  'every rule of policy that decides keeps %s, just before it does, and no other rule',
  (kept, by) => {
    const counted = chainsOf(withRuleCounters(ruleset(), kept)).filter(({ name }) => isCounted(name));
    expect(counted.length).toBeGreaterThan(10);
    for (const { exprs } of counted.flatMap(({ rules }) => rules)) {
      const decides = !['jump', undefined].includes(verdictOf({ exprs })?.kind);
      const kinds = exprs.map(({ kind }) => kind).filter(kind => kind === 'counter' || kind === 'last');
      expect(kinds).toEqual(decides ? by : []);
      if (decides) expect(exprs.slice(-1 - by.length, -1).map(({ kind }) => kind)).toEqual(by);
    }
    const before = ruleset();
    for (const [family, { chains }] of withRuleCounters(before, kept).tables)
      for (const [name, chain] of chains)
        if (!isCounted(name)) expect(chain).toBe(before.tables.get(family)!.chains.get(name));
  },
);

test('what an element of a map by port decides is counted by a chain that decides the same', () => {
  const { tables } = withRuleCounters(ruleset(), 'times');
  let seen = 0;
  for (const [family, { sets, chains }] of tables)
    for (const set of sets.values()) {
      if (!/-ports(-\d+)?$|^ranges-/.test(set.name) || !set.verdicts) continue;
      for (const [key, { verdict, comment }] of set.elements) {
        expect(verdict?.kind, set.name).toBe('jump');
        const was = ruleset().tables.get(family)!.sets.get(set.name)!.elements.get(key)!;
        if (was.verdict!.kind === 'jump') continue;
        seen++;
        const [rule, ...others] = chains.get((verdict as { chain: string }).chain)!.rules;
        expect([others, verdictOf(rule!), rule!.comment]).toEqual([[], was.verdict, comment]);
        expect(isCounting(rule!)).toBe(true);
      }
    }
  expect(seen).toBeGreaterThan(0);
});

test('rules that count say what they keep, and what did not change stays the same object', () => {
  const rules = ruleset();
  expect(ruleCountersIn(rules)).toBeUndefined();
  for (const kept of ['times', 'times and last'] as const)
    expect(ruleCountersIn(withRuleCounters(rules, kept))).toBe(kept);
  const [one, other] = [withRuleCounters(rules, 'times'), withRuleCounters(rules, 'times')];
  for (const [family, { chains, sets }] of one.tables) {
    for (const [name, chain] of chains) expect(other.tables.get(family)!.chains.get(name)).toBe(chain);
    for (const [name, set] of sets) expect(other.tables.get(family)!.sets.get(name)).toBe(set);
  }
  expect(plan(one, other)).toEqual([]);
});
