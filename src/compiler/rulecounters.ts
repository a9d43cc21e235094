/**
 * Counters of policy: of the rules of classes each that decides counts the packets that it decides, new connections and
 * what is denied, before the verdict is given. What is known already never comes to these rules.
 *
 *     chain from-…  { ip saddr @peers-… counter accept comment "shop/web ingress[0]" }
 *     map in-…-ports { tcp . 80 : jump count-… }      an element decides for everybody: elements cannot count
 *     chain count-… { counter accept comment "shop/web ingress[1]" }
 *
 * An engine's rules are changed, and not what compiles them: the names of chains stay what they are without counters.
 */
import type {
  Chain,
  ElementKey,
  ElementValue,
  NftRule,
  NftSet,
  NftVerdict,
  Ruleset,
  Table,
} from '../nft/ruleset.ts';
import { hashedName } from './names.ts';

const COUNTER = { kind: 'counter' } as const;
const COUNTING = 'count';
/** Chains of classes, of their tiers, of their peers and of large policies; and what counts for elements. */
const OF_POLICY = /^(in|eg|from|to|count)-[0-9A-HJKMNP-TV-Z]{26}/;
/** Maps by port of a class, and of ranges. */
const PORT_MAPS = /^((in|eg|from|to)-.*-ports(-\d+)?|ranges-.*)$/;

/** Whether the rules of the chain are counted. */
export function isCounted(chain: string): boolean {
  return OF_POLICY.test(chain);
}

/** The same rules, which count. What did not change stays the same object. */
export function withRuleCounters({ tables }: Ruleset): Ruleset {
  return {
    tables: new Map(
      [...tables].map(([family, table]) => [family, family === 'bridge' ? table : countedTable(table)]),
    ),
  };
}

/** Whether rules that are programmed count. */
export function countsRules({ tables }: Ruleset): boolean {
  return [...tables.values()].some(({ chains }) =>
    [...chains.values()].some(({ name, rules }) => isCounted(name) && rules.some(hasCounter)),
  );
}

function hasCounter({ exprs }: NftRule): boolean {
  return exprs.some(({ kind }) => kind === 'counter');
}

function countedTable({ chains, sets }: Table): Table {
  const counted = new Map<string, Chain>();
  for (const chain of chains.values()) counted.set(chain.name, countedChain(chain));
  const maps = new Map<string, NftSet>();
  for (const set of sets.values()) {
    const { map, counting } = countedMap(set);
    maps.set(map.name, map);
    for (const chain of counting) counted.set(chain.name, chain);
  }
  return { chains: counted, sets: maps };
}

const chainsBefore = new WeakMap<Chain, Chain>();

function countedChain(chain: Chain): Chain {
  if (!isCounted(chain.name)) return chain;
  const known = chainsBefore.get(chain);
  if (known !== undefined) return known;
  const made = { ...chain, rules: chain.rules.map(countedRule) };
  chainsBefore.set(chain, made);
  return made;
}

function countedRule(rule: NftRule): NftRule {
  const last = rule.exprs.at(-1);
  if (last?.kind !== 'verdict' || !decides(last.verdict)) return rule;
  return { ...rule, exprs: [...rule.exprs.slice(0, -1), COUNTER, last] };
}

/** A jump comes back where nothing behind it decides. */
function decides({ kind }: NftVerdict): boolean {
  return kind !== 'jump' && kind !== 'return';
}

interface CountedMap {
  readonly map: NftSet;
  /** The chains that its elements lead to now. */
  readonly counting: readonly Chain[];
}

const mapsBefore = new WeakMap<NftSet, CountedMap>();

function countedMap(set: NftSet): CountedMap {
  if (!set.verdicts || !PORT_MAPS.test(set.name)) return { map: set, counting: [] };
  const known = mapsBefore.get(set);
  if (known !== undefined) return known;
  const counting = new Map<string, Chain>();
  const elements = new Map<ElementKey, ElementValue>();
  for (const [key, value] of set.elements) elements.set(key, countedElement(value, counting));
  const made = { map: counting.size === 0 ? set : { ...set, elements }, counting: [...counting.values()] };
  mapsBefore.set(set, made);
  return made;
}

function countedElement(value: ElementValue, counting: Map<string, Chain>): ElementValue {
  const { verdict, comment } = value;
  if (verdict === undefined || !decides(verdict)) return value;
  const name = hashedName(COUNTING, JSON.stringify([verdict, comment ?? '']));
  const rule: NftRule = {
    exprs: [COUNTER, { kind: 'verdict', verdict }],
    ...(comment !== undefined && { comment }),
  };
  counting.set(name, { name, rules: [rule] });
  return { ...value, verdict: { kind: 'jump', chain: name } };
}
