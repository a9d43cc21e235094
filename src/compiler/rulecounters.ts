/**
 * Counters of policy rules. In the chains of classes each rule that decides counts the packets that it decides, which
 * are new connections and denied packets, before it gives its verdict, and may remember when the last one came. Packets
 * of established connections never reach these rules.
 *
 *     chain from-… { ip saddr @peers-… counter last accept comment "shop/web ingress[0]" }
 *     map in-…-ports { tcp . 80 : jump count-… }          the element allows all peers, and elements cannot count
 *     chain count-… { counter last accept comment "shop/web ingress[1]" }
 *
 * Counters are added to the rules of an engine, after they are compiled: names of chains do not depend on them.
 */

import { getOrMake } from '../lib/collections/getormake.ts';
import {
  type Chain,
  type ElementKey,
  type ElementValue,
  type Expr,
  mapTables,
  type NftRule,
  type NftSet,
  type NftVerdict,
  type Ruleset,
  type Table,
} from '../nft/ruleset.ts';
import { hashedName } from './names.ts';

/**
 * What rules remember of the packets that they decide: their number, and, if the kernel can, when the last one came.
 */
export type CounterKind = 'times' | 'times and last';

const KEPT_BY: Readonly<Record<CounterKind, readonly Expr[]>> = {
  times: [{ kind: 'counter' }],
  'times and last': [{ kind: 'counter' }, { kind: 'last' }],
};

const COUNTING = 'count';
/** Chains of classes, tiers, peers and large policies, and chains that count for elements. */
const OF_POLICY = /^(in|eg|from|to|count)-[0-9A-HJKMNP-TV-Z]{26}/;
/** Maps by port of a class, and maps of port ranges. */
const PORT_MAPS = /^((in|eg|from|to)-.*-ports(-\d+)?|ranges-.*)$/;

/** Whether the rules of the chain have counters. */
export function isCounted(chain: string): boolean {
  return OF_POLICY.test(chain);
}

/** The given rules with counters. What did not change stays the same object. */
export function withRuleCounters(ruleset: Ruleset, kept: CounterKind): Ruleset {
  return mapTables(ruleset, (table, family) => (family === 'bridge' ? table : countedTable(table, kept)));
}

/** What programmed rules remember; undefined if they do not count. */
export function ruleCountersIn({ tables }: Ruleset): CounterKind | undefined {
  const kinds = new Set<Expr['kind']>();
  for (const { chains } of tables.values())
    for (const { name, rules } of chains.values())
      if (isCounted(name)) for (const { exprs } of rules) for (const { kind } of exprs) kinds.add(kind);
  return kinds.has('last') ? 'times and last' : kinds.has('counter') ? 'times' : undefined;
}

function countedTable({ chains, sets }: Table, kept: CounterKind): Table {
  const counted = new Map<string, Chain>();
  for (const chain of chains.values()) counted.set(chain.name, countedChain(chain, kept));
  const maps = new Map<string, NftSet>();
  for (const set of sets.values()) {
    const { map, counting } = countedMap(set, kept);
    maps.set(map.name, map);
    for (const chain of counting) counted.set(chain.name, chain);
  }
  return { chains: counted, sets: maps };
}

const chainsBefore = { times: new WeakMap<Chain, Chain>(), 'times and last': new WeakMap<Chain, Chain>() };

function countedChain(chain: Chain, kept: CounterKind): Chain {
  if (!isCounted(chain.name)) return chain;
  return getOrMake(chainsBefore[kept], chain, () => ({
    ...chain,
    rules: chain.rules.map(rule => countedRule(rule, kept)),
  }));
}

function countedRule(rule: NftRule, kept: CounterKind): NftRule {
  const end = rule.exprs.at(-1);
  if (end?.kind !== 'verdict' || !decides(end.verdict)) return rule;
  return { ...rule, exprs: [...rule.exprs.slice(0, -1), ...KEPT_BY[kept], end] };
}

/** A jump returns if no rule of its chain decides, so it does not decide itself. */
function decides({ kind }: NftVerdict): boolean {
  return kind !== 'jump' && kind !== 'return';
}

interface CountedMap {
  readonly map: NftSet;
  /** The chains to which its elements lead now. */
  readonly counting: readonly Chain[];
}

const mapsBefore = {
  times: new WeakMap<NftSet, CountedMap>(),
  'times and last': new WeakMap<NftSet, CountedMap>(),
};

function countedMap(set: NftSet, kept: CounterKind): CountedMap {
  if (!set.verdicts || !PORT_MAPS.test(set.name)) return { map: set, counting: [] };
  const known = mapsBefore[kept].get(set);
  if (known !== undefined) return known;
  const counting = new Map<string, Chain>();
  const elements = new Map<ElementKey, ElementValue>();
  for (const [key, value] of set.elements) elements.set(key, countedElement(value, kept, counting));
  const made = { map: counting.size === 0 ? set : { ...set, elements }, counting: [...counting.values()] };
  mapsBefore[kept].set(set, made);
  return made;
}

function countedElement(value: ElementValue, kept: CounterKind, counting: Map<string, Chain>): ElementValue {
  const { verdict, comment } = value;
  if (verdict === undefined || !decides(verdict)) return value;
  const name = hashedName(COUNTING, JSON.stringify([verdict, comment ?? '']));
  const rule: NftRule = {
    exprs: [...KEPT_BY[kept], { kind: 'verdict', verdict }],
    ...(comment !== undefined && { comment }),
  };
  counting.set(name, { name, rules: [rule] });
  return { ...value, verdict: { kind: 'jump', chain: name } };
}
