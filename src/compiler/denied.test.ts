import { expect, test } from 'vitest';
import { layoutEvents } from '../../test/support/agent/layouts.ts';
import { ClusterState } from '../model/cluster.ts';
import { plan } from '../nft/plan/plan.ts';
import type { Ruleset, Table } from '../nft/ruleset.ts';
import { compile } from './compile.ts';
import { DENIED_CHAIN, type DenialLimits, denialLimitsIn, isDenial, withDenialLimits } from './denied.ts';

const LOW: DenialLimits = { perSource: { perSecond: 2, burst: 4 }, inAll: { perSecond: 20, burst: 40 } };
const HIGH: DenialLimits = { perSource: { perSecond: 9, burst: 9 }, inAll: { perSecond: 99, burst: 99 } };

function ruleset(): Ruleset {
  const state = new ClusterState();
  for (const event of layoutEvents()) state.apply(event);
  return compile(state, 'n1', 'deny', 'ours');
}

const tables = ({ tables }: Ruleset) => [...tables].filter(([family]) => family !== 'bridge');

function verdicts({ chains, sets }: Table): [string, { kind: string }][] {
  return [
    ...[...chains.values()].flatMap(({ name, rules }) =>
      rules.flatMap(({ exprs }) =>
        exprs.flatMap((expr): [string, { kind: string }][] =>
          expr.kind === 'verdict' ? [[name, expr.verdict]] : [],
        ),
      ),
    ),
    ...[...sets.values()].flatMap(({ name, elements }) =>
      [...elements.values()].flatMap(({ verdict }): [string, { kind: string }][] =>
        verdict === undefined ? [] : [[name, verdict]],
      ),
    ),
  ];
}

test('every denial of both families leads to one chain, and nothing else drops', () => {
  for (const [family, table] of tables(ruleset())) {
    const all = verdicts(table);
    expect(all.filter(([, { kind }]) => kind === 'drop').map(([name]) => name)).toEqual([DENIED_CHAIN]);
    expect(all.filter(([, verdict]) => isDenial(verdict as never)).length, family).toBeGreaterThan(10);
    expect(table.chains.get(DENIED_CHAIN)!.rules.at(-1)!.exprs.at(-1)).toEqual({
      kind: 'verdict',
      verdict: { kind: 'drop' },
    });
  }
});

test('nothing passes the chain, within the limits or beyond them, whoever listens', () => {
  for (const limits of [undefined, LOW])
    for (const [, table] of tables(withDenialLimits(ruleset(), limits))) {
      const { rules } = table.chains.get(DENIED_CHAIN)!;
      const verdicts = rules.flatMap(({ exprs }) =>
        exprs.flatMap(expr => (expr.kind === 'verdict' ? [expr.verdict.kind] : [])),
      );
      expect(new Set(verdicts)).toEqual(new Set(['drop']));
      expect(rules.at(-1)!.exprs.every(({ kind }) => ['counter', 'log', 'verdict'].includes(kind))).toBe(
        true,
      );
    }
});

test.each([
  ['on', undefined, LOW],
  ['off', LOW, undefined],
  ['to other limits', LOW, HIGH],
])('to switch naming %s touches the one chain of each family', (_, before, after) => {
  const rules = ruleset();
  const ops = plan(withDenialLimits(rules, before), withDenialLimits(rules, after));
  expect(new Set(ops.map(op => ('chain' in op ? op.chain : op.op)))).toEqual(new Set([DENIED_CHAIN]));
  expect(new Set(ops.map(({ op }) => op))).toEqual(new Set(['flushChain', 'addRule']));
  expect(new Set(ops.map(({ family }) => family))).toEqual(new Set(['ip', 'ip6']));
});

test('the limits of rules are read back from them', () => {
  for (const limits of [undefined, LOW, HIGH])
    expect(denialLimitsIn(withDenialLimits(ruleset(), limits))).toEqual(limits);
  expect(denialLimitsIn({ tables: new Map() })).toBeUndefined();
});
