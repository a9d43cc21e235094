/**
 * No packet is accepted before policy is evaluated unless an entry of the list matches it, at a hook that the entry
 * names.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { layoutCluster, NAMES_LAYOUT_FOLDER } from '../../test/support/agent/layouts.ts';
import { FAMILIES } from '../model/address.ts';
import type { NodeLinks } from '../model/cluster.ts';
import { verdict } from '../nft/match.ts';
import type { Chain, NftRule, NftVerdict, Ruleset, Table } from '../nft/ruleset.ts';
import { EXEMPTIONS, type Exemption, type ExemptionName, exempt, exemptFrames } from './beforepolicy.ts';
import { compile } from './compile.ts';
import { INGRESS_CHAIN } from './program.ts';

const NAMES = Object.keys(EXEMPTIONS) as ExemptionName[];
const LINKS: readonly NodeLinks[] = [
  { uplinks: [2], podBridges: [] },
  { uplinks: [2, 3], podBridges: [5, 6], podPorts: [] },
];

const clusters = LINKS.flatMap(links =>
  (['others', 'ours'] as const).flatMap(podLinks =>
    (['allow', 'deny'] as const).map(unknownPods => ({ links, podLinks, unknownPods })),
  ),
);

describe.each(clusters)('%j', ({ links, podLinks, unknownPods }) => {
  let rules: Ruleset;
  beforeAll(() => {
    const state = layoutCluster();
    state.apply({ type: 'node', key: 'n1', value: { ...state.nodes.get('n1')!, links } });
    rules = compile(state, 'n1', unknownPods, podLinks, { queue: 'nft', resolvers: [] });
  });

  test.each(FAMILIES)(
    '%s: every accept that a packet can meet before the maps of pods is of the list',
    family => {
      const table = rules.tables.get(family)!;
      const known = new Set(NAMES.flatMap(name => exempt(name, family)).map(textOf));
      const found = new Set<string>();
      for (const chain of table.chains.values()) {
        if (chain.hook === undefined || chain.hook.type === 'nat') continue;
        for (const rule of acceptsFrom(table, chain)) {
          found.add(textOf(rule));
          expect(known, `${chain.name}: ${textOf(rule)}`).toContain(textOf(rule));
        }
      }
      expect(found).toEqual(known);
    },
  );

  test.each(FAMILIES)(
    '%s: an entry is met at the hooks that it names, and by whose links it says',
    family => {
      const table = rules.tables.get(family)!;
      for (const name of NAMES) {
        const entry: Exemption = EXEMPTIONS[name];
        for (const hook of ['forward', 'input', 'output'] as const) {
          const met = acceptsFrom(table, table.chains.get(hook)!).map(textOf);
          for (const rule of exempt(name, family))
            expect(met.includes(textOf(rule)), `${name} at ${hook}`).toBe(entry.hooks.includes(hook));
          if (entry.by === 'anybody') continue;
          const direct = acceptsFrom(table, table.chains.get(hook)!, FROM_PODS).map(textOf);
          for (const rule of exempt(name, family)) expect(direct, name).not.toContain(textOf(rule));
        }
      }
    },
  );
});

test('frames to all ports of a bridge are from the list, and no other frame is accepted that the rules of IP do not judge', () => {
  const state = layoutCluster();
  state.apply({ type: 'node', key: 'n1', value: { ...state.nodes.get('n1')!, links: LINKS[1]! } });
  const bridge = compile(state, 'n1').tables.get('bridge')!;
  const frames = exemptFrames().map(exprs => textOf({ exprs: [...exprs, verdict('accept')] }));
  expect(acceptsFrom(bridge, bridge.chains.get('input')!).map(textOf)).toEqual(frames);
  expect([...bridge.chains.values()].flatMap(({ hook }) => hook?.hook ?? [])).toEqual([
    'prerouting',
    'input',
  ]);
});

test('what waits for the agent is an answer by the word of conntrack, or sent by the node itself', () => {
  const state = layoutCluster(NAMES_LAYOUT_FOLDER);
  const { tables } = compile(state, 'n1', 'allow', 'others', { queue: 'nft', resolvers: [] });
  for (const family of FAMILIES) {
    const chains = [...tables.get(family)!.chains.values()];
    const queued = chains.filter(({ rules }) =>
      rules.some(({ exprs }) => exprs.some(expr => expr.kind === 'queue')),
    );
    expect(queued.map(({ name }) => name)).toEqual(['names-wait']);
    const leading = chains.flatMap(({ name, rules }) =>
      rules.filter(rule => nextOf(verdictOf(rule)) === 'names-wait').map(({ exprs }) => ({ name, exprs })),
    );
    const others = leading.filter(
      ({ exprs }) => !exprs.some(expr => expr.kind === 'ct' && expr.key === 'direction'),
    );
    expect(others.map(({ name }) => name)).toEqual(['names-local']);
    expect(leading.length).toBeGreaterThan(others.length);
    expect(
      chains.filter(({ rules }) => rules.some(rule => nextOf(verdictOf(rule)) === 'names-local')),
    ).toEqual([tables.get(family)!.chains.get('output')]);
  }
});

const FROM_PODS = new Set(['from-pods', 'from-pods-to-node']);

/**
 * The accept rules in this chain and in the chains that it leads to. The search ends at a verdict map look-up, which
 * evaluates policy: packets behind it, and in the chain `ingress`, have been judged already.
 */
function acceptsFrom(table: Table, chain: Chain, without: ReadonlySet<string> = new Set()): NftRule[] {
  const accepting: NftRule[] = [];
  const seen = new Set<string>([...without, INGRESS_CHAIN]);
  const walk = ({ rules }: Chain) => {
    for (const rule of rules) {
      if (rule.exprs.some(expr => expr.kind === 'lookup' && expr.vmap)) return;
      if (verdictOf(rule)?.kind === 'accept') accepting.push(rule);
      const next = nextOf(verdictOf(rule));
      if (next === undefined || seen.has(next)) continue;
      seen.add(next);
      walk(table.chains.get(next)!);
    }
  };
  walk(chain);
  return accepting;
}

function verdictOf({ exprs }: NftRule): NftVerdict | undefined {
  const last = exprs.at(-1);
  return last?.kind === 'verdict' ? last.verdict : undefined;
}

function nextOf(verdict: NftVerdict | undefined): string | undefined {
  return verdict !== undefined && 'chain' in verdict ? verdict.chain : undefined;
}

function textOf(rule: NftRule): string {
  return JSON.stringify(rule);
}
