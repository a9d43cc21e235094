/**
 * Whether a commit may deny what was allowed before, and to whom. It looks at what the commit changes and at nothing
 * else, and where it cannot be sure it says yes: a yes costs a look at the connections, a wrong no leaves one open.
 */

import { podMap } from '../../compiler/base.ts';
import { isGuard } from '../../compiler/midstreamguard.ts';
import { INGRESS_CHAIN } from '../../compiler/program.ts';
import { classChain } from '../../compiler/unknownpods.ts';
import type { Address } from '../../model/address.ts';
import type { Op } from '../../nft/plan/op.ts';
import type { Chain, ElementKey, Family, Rule, Ruleset, SetSpec, Table, Verdict } from '../../nft/ruleset.ts';

/** Addresses at an end of all connections that may be denied now. */
export type AffectedAddresses = 'nobody' | 'everybody' | ReadonlySet<Address>;

/** `before` is what stood before `ops`, or undefined where nobody knows. */
export function affectedAddresses(
  before: Ruleset | undefined,
  after: Ruleset,
  ops: readonly Op[],
): AffectedAddresses {
  if (before === undefined) return ops.length === 0 ? 'nobody' : 'everybody';
  const addresses = new Set<Address>();
  for (const op of ops) {
    const tables = { before: before.tables.get(op.family), after: after.tables.get(op.family) };
    if (tables.before === undefined || tables.after === undefined) return 'everybody';
    const touched = touchedBy(op, tables.before, tables.after);
    if (touched === 'everything') return 'everybody';
    for (const address of touched) addresses.add(address);
  }
  return addresses.size === 0 ? 'nobody' : addresses;
}

export function merge(a: AffectedAddresses, b: AffectedAddresses): AffectedAddresses {
  if (a === 'nobody' || b === 'everybody') return b;
  return b === 'nobody' || a === 'everybody' ? a : new Set([...a, ...b]);
}

type Touched = 'everything' | readonly Address[];

const NONE: Touched = [];

function touchedBy(op: Op, before: Table, after: Table): Touched {
  switch (op.op) {
    case 'addTable':
    case 'delTable':
      return 'everything';
    // What is new is reached, and what goes was reached, by a rule or an element that is in the batch too.
    case 'addSet':
    case 'delSet':
    case 'addChain':
    case 'delChain':
      return NONE;
    case 'flushChain':
    case 'addRule':
      return changedChain(op.chain, before, after);
    case 'addElements':
      return changedElements(
        op.family,
        op.set,
        op.elements.map(([key]) => key),
        before,
        after,
      );
    case 'delElements':
      return changedElements(op.family, op.set, op.keys, before, after);
  }
}

function changedChain(name: string, before: Table, after: Table): Touched {
  const [was, is] = [before.chains.get(name), after.chains.get(name)];
  if (was === undefined || is === undefined) return NONE;
  return loosens(was.rules, is.rules) ? NONE : 'everything';
}

/** Whether rules became others only by rules that allow and came, and rules that deny and went. */
export function loosens(before: readonly Rule[], after: readonly Rule[]): boolean {
  let next = 0;
  for (const rule of after) {
    while (
      next < before.length &&
      !sameRule(before[next]!, rule) &&
      verdictOf(before[next]!)?.kind === 'drop'
    )
      next++;
    if (next < before.length && sameRule(before[next]!, rule)) next++;
    else if (!allows(verdictOf(rule))) return false;
  }
  return before.slice(next).every(rule => verdictOf(rule)?.kind === 'drop');
}

function sameRule(a: Rule, b: Rule): boolean {
  return a === b || JSON.stringify(a.exprs) === JSON.stringify(b.exprs);
}

function verdictOf({ exprs }: Rule): Verdict | undefined {
  const last = exprs.at(-1);
  return last?.kind === 'verdict' ? last.verdict : undefined;
}

function allows(verdict: Verdict | undefined): boolean {
  return verdict?.kind === 'accept' || (verdict?.kind === 'goto' && verdict.chain === INGRESS_CHAIN);
}

function changedElements(
  family: Family,
  set: SetSpec,
  keys: readonly ElementKey[],
  before: Table,
  after: Table,
): Touched {
  if (isGuard(set.name)) return NONE; // It has no say on what is established.
  if (set.name === podMap('egress', family).name || set.name === podMap('ingress', family).name)
    return keys.filter(key => hasClass(after, set.name, key)).map(addressOf);
  if (!before.sets.has(set.name) || !after.sets.has(set.name)) return NONE;
  if (set.verdicts) return keys.every(key => loosensAt(set.name, key, before, after)) ? NONE : 'everything';
  return changedMembers(set, keys, before, after);
}

function hasClass(table: Table, map: string, key: ElementKey): boolean {
  const element = table.sets.get(map)?.elements.get(key);
  return element !== undefined && classChain(element) !== undefined;
}

/** Whether what a port leads to allows at least what it did. */
function loosensAt(map: string, key: ElementKey, before: Table, after: Table): boolean {
  const was = before.sets.get(map)!.elements.get(key)?.verdict;
  const is = after.sets.get(map)!.elements.get(key)?.verdict;
  if (was?.kind === 'drop' || allows(is)) return true;
  const [rulesBefore, rulesAfter] = [jumpedTo(was, before), jumpedTo(is, after)];
  return rulesBefore !== undefined && rulesAfter !== undefined && loosens(rulesBefore, rulesAfter);
}

/** No verdict is a jump to nothing: the packet goes on either way. */
function jumpedTo(verdict: Verdict | undefined, table: Table): readonly Rule[] | undefined {
  if (verdict === undefined) return [];
  return verdict.kind === 'jump' ? table.chains.get(verdict.chain)?.rules : undefined;
}

function changedMembers(set: SetSpec, keys: readonly ElementKey[], before: Table, after: Table): Touched {
  const uses = usesOf(set.name, after);
  const [was, is] = [before.sets.get(set.name)!.elements, after.sets.get(set.name)!.elements];
  const tightening = keys.filter(key => {
    if (was.has(key) === is.has(key)) return false;
    return is.has(key) ? uses !== 'allow' : uses !== 'deny';
  });
  if (tightening.length === 0) return NONE;
  if (set.interval || !['ipv4_addr', 'ipv6_addr'].includes(set.key[0] ?? '')) return 'everything';
  return tightening.map(addressOf);
}

/** `10.0.0.1 . tcp . 80`: the address comes first. */
function addressOf(key: ElementKey): Address {
  const end = key.indexOf(' ');
  return (end === -1 ? key : key.slice(0, end)) as Address;
}

type Use = 'allow' | 'deny' | 'both';

/** What the members of a set are in for, by all rules that look them up. */
function usesOf(set: string, { chains }: Table): Use | undefined {
  let uses: Use | undefined;
  for (const chain of chains.values()) {
    const use = chainUses(chain).get(set);
    if (use !== undefined) uses = uses === undefined || uses === use ? use : 'both';
  }
  return uses;
}

/** A chain that has not changed is the same object. */
const known = new WeakMap<Chain, ReadonlyMap<string, Use>>();

function chainUses(chain: Chain): ReadonlyMap<string, Use> {
  const found = known.get(chain);
  if (found !== undefined) return found;
  const uses = new Map<string, Use>();
  for (const rule of chain.rules)
    for (const expr of rule.exprs) {
      if (expr.kind !== 'lookup') continue;
      const use = expr.invert ? 'both' : useOf(verdictOf(rule));
      uses.set(expr.set, (uses.get(expr.set) ?? use) === use ? use : 'both');
    }
  known.set(chain, uses);
  return uses;
}

function useOf(verdict: Verdict | undefined): Use {
  if (allows(verdict)) return 'allow';
  return verdict?.kind === 'drop' ? 'deny' : 'both';
}
