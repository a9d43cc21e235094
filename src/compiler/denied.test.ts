import { expect, test } from 'vitest';
import { layoutCluster } from '../../test/support/agent/layouts.ts';
import { formatRuleset } from '../nft/format/format.ts';
import { plan } from '../nft/plan/plan.ts';
import type { Expr, Ruleset, Table } from '../nft/ruleset.ts';
import { compile } from './compile.ts';
import {
  DENIED_CHAIN,
  type DenialLimits,
  denialLimitsIn,
  isDenial,
  isDenialChain,
  LIMITED_CHAIN,
  LINK_CHAIN,
  withDenialLimits,
} from './denied.ts';

const LOW: DenialLimits = { perSource: { perSecond: 2, burst: 4 }, inAll: { perSecond: 20, burst: 40 } };
const HIGH: DenialLimits = { perSource: { perSecond: 9, burst: 9 }, inAll: { perSecond: 99, burst: 99 } };

function ruleset(): Ruleset {
  const state = layoutCluster();
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

const isOver = (expr: Expr) => expr.kind === 'dynset' && expr.over !== undefined;

const rulesOf = (table: Table) =>
  [...table.chains.values()].filter(({ name }) => isDenialChain(name)).flatMap(({ rules }) => rules);

test('every denial of both families leads to a chain of denials, and nothing else drops', () => {
  for (const [family, table] of tables(ruleset())) {
    const all = verdicts(table);
    const others = all.filter(([name, { kind }]) => kind === 'drop' && !isDenialChain(name));
    // Errors that the node itself would send are not attempts to connect.
    const unnamed = others.filter(([name]) => name !== 'own-errors');
    // The listener reports that a bridge floods are neither.
    expect(unnamed).toEqual(family === 'ip6' ? [['from-pods', { kind: 'drop' }]] : []);
    expect(all.filter(([, verdict]) => isDenial(verdict as never)).length, family).toBeGreaterThan(10);
    for (const name of [DENIED_CHAIN, LIMITED_CHAIN, LINK_CHAIN])
      expect(table.chains.get(name)!.rules.at(-1)!.exprs.at(-1)).toEqual({
        kind: 'verdict',
        verdict: { kind: 'drop' },
      });
  }
});

test('nothing passes the chains, within the limits or beyond them, with or without a listener', () => {
  for (const limits of [undefined, LOW])
    for (const [, table] of tables(withDenialLimits(ruleset(), limits))) {
      const found = rulesOf(table).flatMap(({ exprs }) =>
        exprs.flatMap(expr => (expr.kind === 'verdict' ? [expr.verdict] : [])),
      );
      expect(found.length).toBeGreaterThan(3);
      expect(found.every(isDenial)).toBe(true);
      for (const { name, rules } of table.chains.values())
        if (isDenialChain(name))
          expect(
            rules.at(-1)!.exprs.every(({ kind }) => ['counter', 'log', 'verdict'].includes(kind)),
            name,
          ).toBe(true);
    }
});

test('who sends from an address that is not its own is limited by its link, and by no address', () => {
  for (const [, table] of tables(withDenialLimits(ruleset(), LOW))) {
    const rules = table.chains.get(LINK_CHAIN)!.rules;
    expect(rules.flatMap(({ exprs }) => exprs).some(({ kind }) => kind === 'payload')).toBe(false);
    const asked = [...table.chains.values()].flatMap(({ rules }) =>
      rules.filter(({ exprs }) => exprs.some(expr => expr.kind === 'fib' && expr.flags.includes('saddr'))),
    );
    const verdicts = asked.map(({ exprs }) => exprs.at(-1)).filter(expr => expr?.kind === 'verdict');
    const denials = verdicts.filter(({ verdict }) => isDenial(verdict));
    expect(denials.length).toBeGreaterThan(1);
    expect(new Set(denials.map(({ verdict }) => 'chain' in verdict && verdict.chain))).toEqual(
      new Set([LINK_CHAIN]),
    );
  }
});

test('a source over its limit is never reported, however full the sets are', () => {
  for (const [, { chains }] of tables(withDenialLimits(ruleset(), LOW))) {
    const { exprs } = chains.get(LIMITED_CHAIN)!.rules.find(({ exprs }) => exprs.some(isOver))!;
    // Between the limit and the verdict there is no expression that a full set would make fail.
    const [last] = exprs.slice(exprs.findIndex(isOver) + 1);
    if (last?.kind !== 'verdict' || last.verdict.kind !== 'goto') throw new Error('no end');
    const often = chains.get(last.verdict.chain)!;
    expect(often.rules.at(-1)!.exprs).toEqual([{ kind: 'verdict', verdict: { kind: 'drop' } }]);
    expect(often.rules.flatMap(({ exprs }) => exprs).some(({ kind }) => kind === 'log')).toBe(false);
  }
});

test('who is outside of the node has half of the limit, and the pods of the node all of it', () => {
  const state = layoutCluster();
  const links = { uplinks: [2], podBridges: [5] };
  state.apply({ type: 'node', key: 'n1', value: { ...state.nodes.get('n1')!, links } });
  const text = formatRuleset(withDenialLimits(compile(state, 'n1'), LOW));
  expect(text.split('\n').map(line => line.trim())).toEqual(
    expect.arrayContaining([
      'iif != 2 meta iifkind "veth" goto denied-limited',
      'iif 5 goto denied-limited',
      'limit rate over 10/second burst 20 packets goto denied-over',
      'limit rate over 20/second burst 40 packets goto denied-over',
    ]),
  );
});

test.each([
  ['on', undefined, LOW],
  ['off', LOW, undefined],
  ['to other limits', LOW, HIGH],
])(
  'to switch naming %s touches the chains of denials of each family, and nothing else',
  (_, before, after) => {
    const rules = ruleset();
    const ops = plan(withDenialLimits(rules, before), withDenialLimits(rules, after));
    expect(new Set(ops.map(op => ('chain' in op ? op.chain : op.op)))).toEqual(
      new Set([DENIED_CHAIN, LIMITED_CHAIN, LINK_CHAIN]),
    );
    expect(new Set(ops.map(({ op }) => op))).toEqual(new Set(['flushChain', 'addRule']));
    expect(new Set(ops.map(({ family }) => family))).toEqual(new Set(['ip', 'ip6']));
  },
);

test('the limits of rules are read back from them', () => {
  for (const limits of [undefined, LOW, HIGH])
    expect(denialLimitsIn(withDenialLimits(ruleset(), limits))).toEqual(limits);
  expect(denialLimitsIn({ tables: new Map() })).toBeUndefined();
});
