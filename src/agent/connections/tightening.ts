/**
 * Whether a commit may deny what was allowed before, and to which pods. The batch names the objects that it touches. What
 * became of each of them is read off the rulesets from before and after the batch, so that it makes no difference whether an
 * object was changed or made again. Where this is not sure the answer is yes: a wrong yes costs a scan of the connections,
 * and a wrong no leaves one open.
 */

import { POD_MAPS } from '../../compiler/base.ts';
import { isDenial, isDenialChain } from '../../compiler/denied.ts';
import { INGRESS_CHAIN } from '../../compiler/program.ts';
import { TUNNEL_CHAINS, TUNNEL_SETS } from '../../compiler/tunnelsin.ts';
import { classChain } from '../../compiler/unknownpods.ts';
import type { Address } from '../../model/address.ts';
import { hooksEqual, specsEqual, targetOf, verdictsEqual } from '../../nft/plan/equal.ts';
import { changedKeys } from '../../nft/plan/history.ts';
import type { Op } from '../../nft/plan/op.ts';
import type {
  Chain,
  ElementKey,
  ElementValue,
  Family,
  NftRule,
  NftSet,
  NftVerdict,
  Ruleset,
  Table,
} from '../../nft/ruleset.ts';

/** `before` is the ruleset that was programmed before `ops`, or undefined if that is not known. */
export function affectedAddresses(
  before: Ruleset | undefined,
  after: Ruleset,
  ops: readonly Op[],
): AffectedAddresses {
  if (before === undefined) return ops.length === 0 ? 'none' : 'all';
  let affected: AffectedAddresses = 'none';
  for (const [family, touched] of touchedBy(ops)) {
    const tables = { before: before.tables.get(family), after: after.tables.get(family) };
    if (touched === 'table' || tables.before === undefined || tables.after === undefined) return 'all';
    affected = merge(affected, affectedIn(touched, tables.before, tables.after));
  }
  return affected;
}

/** The objects of a table that a batch names, or the table itself. */
type Touched = 'table' | { readonly chains: Set<string>; readonly sets: Set<string> };

function touchedBy(ops: readonly Op[]): ReadonlyMap<Family, Touched> {
  const found = new Map<Family, Touched>();
  for (const op of ops) {
    if (op.family === 'bridge') continue; // which pod may send from which address: no open connection is judged by it
    const touched = found.get(op.family) ?? { chains: new Set<string>(), sets: new Set<string>() };
    if (op.op === 'addTable' || op.op === 'delTable') found.set(op.family, 'table');
    else found.set(op.family, touched);
    if (touched === 'table') continue;
    if ('chain' in op) touched.chains.add(op.chain);
    if ('set' in op) touched.sets.add(typeof op.set === 'string' ? op.set : op.set.name);
  }
  return found;
}

function affectedIn(touched: Exclude<Touched, 'table'>, before: Table, after: Table): AffectedAddresses {
  if (changesTunnels(touched, before, after)) return 'all';
  const chains = new Set([...touched.chains].filter(name => isTighter(name, before, after)));
  const addresses = new Set<Address>();
  for (const name of touched.sets) {
    const tighter = tighterSet(before.sets.get(name), after.sets.get(name), { before, after });
    for (const address of tighter.addresses) addresses.add(address);
    for (const chain of tighter.chains) chains.add(chain);
  }
  if (chains.size > 0) for (const address of podsReaching(chains, after)) addresses.add(address);
  return addresses.size === 0 ? 'none' : addresses;
}

/** A tunnel of the node came or went, or a node with its pod network: this is rare, and concerns pods of all classes. */
function changesTunnels(touched: Exclude<Touched, 'table'>, before: Table, after: Table): boolean {
  const isOther = (name: string) =>
    after.chains.has(name) && (!before.chains.has(name) || isTighter(name, before, after));
  for (const name of Object.values(TUNNEL_CHAINS)) if (touched.chains.has(name) && isOther(name)) return true;
  const { elements } = after.sets.get(TUNNEL_SETS.ports) ?? { elements: new Map() };
  const known = before.sets.get(TUNNEL_SETS.ports)?.elements;
  return touched.sets.has(TUNNEL_SETS.ports) && [...elements.keys()].some(port => known?.has(port) !== true);
}

/** A rule or an element that jumps to a new chain has changed, too, and so has one that jumped to a deleted chain. */
function isTighter(name: string, before: Table, after: Table): boolean {
  const [was, is] = [before.chains.get(name), after.chains.get(name)];
  if (was === undefined || is === undefined || was === is) return false;
  return !hooksEqual(was, is) || !permitsAtLeast(was.rules, is.rules);
}

/**
 * The connections that a change of a set may deny: those of these addresses, and those that one of these chains judges.
 */
interface Tighter {
  readonly addresses: readonly Address[];
  readonly chains: readonly string[];
}

const NOTHING: Tighter = { addresses: [], chains: [] };

interface Tables {
  readonly before: Table;
  readonly after: Table;
}

function tighterSet(was: NftSet | undefined, is: NftSet | undefined, tables: Tables): Tighter {
  const name = (is ?? was)?.name ?? '';
  if (name === POD_MAPS.egress || name === POD_MAPS.ingress)
    return { ...NOTHING, addresses: otherClass(was, is) };
  // No class looks the set up, and open tunnels are judged by it all the same (connectionchecker.ts).
  if (name === TUNNEL_SETS.ends && was && is)
    return { ...NOTHING, addresses: tighterMembers(differentKeys(was, is), was, is, 'deny').map(addressOf) };
  // A set that was added or removed concerns a rule that names it, and that rule has changed, too.
  if (was === undefined || is === undefined || was === is) return NOTHING;
  const { use, chains } = usesOf(tables.after).get(name) ?? NO_USES;
  if (use === undefined) return NOTHING; // No chain that judges open connections looks it up.
  const users = { ...NOTHING, chains };
  if (!specsEqual(was, is)) return users;
  const keys = differentKeys(was, is);
  if (is.verdicts) return keys.every(key => permitsAtLeastAtKey(key, was, is, tables)) ? NOTHING : users;
  const tighter = tighterMembers(keys, was, is, use);
  if (tighter.length === 0) return NOTHING;
  return isOfAddresses(is) ? { ...NOTHING, addresses: tighter.map(addressOf) } : users;
}

/** The pods whose elements lead to another class than before. */
function otherClass(was: NftSet | undefined, is: NftSet | undefined): Address[] {
  if (is === undefined) return [];
  const differs = (key: ElementKey, value: ElementValue) =>
    classChain(value) !== undefined && !verdictsEqual(was?.elements.get(key)?.verdict, value.verdict);
  return [...is.elements].filter(([key, value]) => differs(key, value)).map(([key]) => addressOf(key));
}

function differentKeys(was: NftSet, is: NftSet): ElementKey[] {
  if (was.elements === is.elements) return [];
  const known = changedKeys(was.elements, is.elements);
  return [...(known ?? new Set([...was.elements.keys(), ...is.elements.keys()]))];
}

function permitsAtLeastAtKey(key: ElementKey, was: NftSet, is: NftSet, { before, after }: Tables): boolean {
  const [valueBefore, valueAfter] = [was.elements.get(key), is.elements.get(key)];
  if (verdictsEqual(valueBefore?.verdict, valueAfter?.verdict)) return true;
  return permitsAtLeastAt(valueBefore, valueAfter, before, after);
}

/** The members that were added and deny, or were deleted and allowed. */
function tighterMembers(keys: readonly ElementKey[], was: NftSet, is: NftSet, use: Use): ElementKey[] {
  const tighter: ElementKey[] = [];
  for (const key of keys) {
    const isMember = is.elements.has(key);
    if (was.elements.has(key) !== isMember && use !== (isMember ? 'allow' : 'deny')) tighter.push(key);
  }
  return tighter;
}

function isOfAddresses({ interval, key }: NftSet): boolean {
  return !interval && ['ipv4_addr', 'ipv6_addr'].includes(key[0] ?? '');
}

/** `10.0.0.1 . tcp . 80`: the address comes first. */
function addressOf(key: ElementKey): Address {
  const end = key.indexOf(' ');
  return (end === -1 ? key : key.slice(0, end)) as Address;
}

/** Addresses at an end of all connections that may be denied now. */
export type AffectedAddresses = 'none' | 'all' | ReadonlySet<Address>;

export function merge(a: AffectedAddresses, b: AffectedAddresses): AffectedAddresses {
  if (a === 'none' || b === 'all') return b;
  return b === 'none' || a === 'all' ? a : new Set([...a, ...b]);
}

/** The addresses of `a` that are not in `b`; 'all' without some addresses is still 'all'. */
export function allBut(a: AffectedAddresses, b: AffectedAddresses): AffectedAddresses {
  if (b === 'all' || a === 'none') return 'none';
  return a === 'all' || b === 'none' ? a : addresses([...a].filter(address => !b.has(address)));
}

export function addresses(found: Iterable<Address>): AffectedAddresses {
  const set = new Set(found);
  return set.size === 0 ? 'none' : set;
}

/**
 * Whether changed rules still allow everything that they allowed before: allow rules were added, deny rules were
 * deleted, and nothing else changed. If that is not certain, the result is false.
 */
function permitsAtLeast(before: readonly NftRule[], after: readonly NftRule[]): boolean {
  let next = 0;
  for (const rule of after) {
    while (next < before.length && !sameRule(before[next]!, rule) && denies(before[next]!)) next++;
    if (next < before.length && sameRule(before[next]!, rule)) next++;
    else if (!allows(verdictOf(rule))) return false;
  }
  return before.slice(next).every(denies);
}

/** Whether the rules behind an element of a verdict map permit at least what the earlier ones did. */
function permitsAtLeastAt(
  was: ElementValue | undefined,
  is: ElementValue | undefined,
  before: Table,
  after: Table,
): boolean {
  if (isDenial(was?.verdict) || allows(is?.verdict)) return true;
  const [rulesBefore, rulesAfter] = [jumpedTo(was?.verdict, before), jumpedTo(is?.verdict, after)];
  return rulesBefore !== undefined && rulesAfter !== undefined && permitsAtLeast(rulesBefore, rulesAfter);
}

/** The verdict at the end of a rule; undefined where the rule looks it up in a map. */
function verdictOf({ exprs }: NftRule): NftVerdict | undefined {
  const last = exprs.at(-1);
  return last?.kind === 'verdict' ? last.verdict : undefined;
}

function allows(verdict: NftVerdict | undefined): boolean {
  return verdict?.kind === 'accept' || (verdict?.kind === 'goto' && verdict.chain === INGRESS_CHAIN);
}

function denies(rule: NftRule): boolean {
  return isDenial(verdictOf(rule));
}

function sameRule(a: NftRule, b: NftRule): boolean {
  return a === b || JSON.stringify(a.exprs) === JSON.stringify(b.exprs);
}

/** An element without a verdict lets the packet go on, like a jump to a chain without rules. */
function jumpedTo(verdict: NftVerdict | undefined, table: Table): readonly NftRule[] | undefined {
  if (verdict === undefined) return [];
  return verdict.kind === 'jump' ? table.chains.get(verdict.chain)?.rules : undefined;
}

/** How rules use the members of a set that they look up. */
type Use = 'allow' | 'deny' | 'both';

export interface Uses {
  /** Undefined where no rule that judges open connections looks the set up. */
  readonly use: Use | undefined;
  /** The chains of these rules. */
  readonly chains: readonly string[];
}

const NO_USES: Uses = { use: undefined, chains: [] };

/** How the rules that judge open connections use each set, by its name. */
export function usesOf(table: Table): ReadonlyMap<string, Uses> {
  const before = ofTables.get(table.chains);
  if (before !== undefined && haveSameMaps(before.table, table)) {
    before.table = table;
    return before.uses;
  }
  const uses = new Map<string, { use: Use | undefined; chains: string[] }>();
  for (const name of judgingChains(table))
    for (const [set, use] of usesIn(table.chains.get(name)!)) {
      const known = uses.get(set) ?? { use, chains: [] };
      known.chains.push(name);
      uses.set(set, { use: known.use === use ? use : 'both', chains: known.chains });
    }
  ofTables.set(table.chains, { table, uses });
  return uses;
}

/** By the chains of a table, with the last table that had them: the members of sets that are no maps make no difference. */
const ofTables = new WeakMap<Table['chains'], { table: Table; readonly uses: ReadonlyMap<string, Uses> }>();

/** Whether the elements that lead to chains are the same in both. */
function haveSameMaps(a: Table, b: Table): boolean {
  const changed = changedKeys(a.sets, b.sets);
  if (changed === undefined) return false;
  for (const name of changed) if (a.sets.get(name)?.verdicts || b.sets.get(name)?.verdicts) return false;
  return true;
}

/** A chain that has not changed is the same object. */
const ofChains = new WeakMap<Chain, ReadonlyMap<string, Use>>();

function usesIn(chain: Chain): ReadonlyMap<string, Use> {
  const found = ofChains.get(chain);
  if (found !== undefined) return found;
  const uses = new Map<string, Use>();
  for (const rule of chain.rules)
    for (const expr of rule.exprs) {
      if (expr.kind !== 'lookup') continue;
      const use = expr.invert ? 'both' : useIn(rule);
      uses.set(expr.set, (uses.get(expr.set) ?? use) === use ? use : 'both');
    }
  ofChains.set(chain, uses);
  return uses;
}

function useIn(rule: NftRule): Use {
  const verdict = verdictOf(rule);
  if (allows(verdict)) return 'allow';
  return isDenial(verdict) ? 'deny' : 'both';
}

/**
 * The local pods whose connections one of these chains may judge: an element of a pod map leads there, over any number
 * of chains. Rules of the hooks before the pod maps do not judge open connections (connectionchecker.ts).
 */
export function podsReaching(chains: ReadonlySet<string>, table: Table): readonly Address[] {
  const reaches = reachOf(chains, table);
  return (['egress', 'ingress'] as const).flatMap(direction => {
    const elements = table.sets.get(POD_MAPS[direction])?.elements ?? new Map();
    return [...elements].filter(([, value]) => reaches(classChain(value))).map(([key]) => key as Address);
  });
}

/** The chains that judge open connections: those that the pod maps lead to. */
function judgingChains(table: Table): ReadonlySet<string> {
  const chains = new Set<string>();
  const visit = (name: string | undefined): void => {
    const chain = name === undefined ? undefined : table.chains.get(name);
    if (chain === undefined || chains.has(chain.name)) return;
    chains.add(chain.name);
    nextChains(chain, table).forEach(visit);
  };
  for (const direction of ['egress', 'ingress'] as const)
    for (const value of table.sets.get(POD_MAPS[direction])?.elements.values() ?? [])
      visit(classChain(value));
  return chains;
}

function reachOf(wanted: ReadonlySet<string>, table: Table): (chain: string | undefined) => boolean {
  const known = new Map<string, boolean>();
  const reaches = (name: string | undefined): boolean => {
    const chain = name === undefined ? undefined : table.chains.get(name);
    if (chain === undefined) return false;
    const found = known.get(chain.name);
    if (found !== undefined) return found;
    known.set(chain.name, false); // Chains never lead back to themselves.
    const reached = wanted.has(chain.name) || nextChains(chain, table).some(reaches);
    known.set(chain.name, reached);
    return reached;
  };
  return reaches;
}

function nextChains(chain: Chain, { sets }: Table): string[] {
  const { direct, maps } = exitsOf(chain);
  return [...direct, ...maps.flatMap(name => targetsOf(sets.get(name)))];
}

interface Exits {
  /** The jumps without those of every class: to the destination's ingress, and to the chains of denials. */
  readonly direct: readonly string[];
  readonly maps: readonly string[];
}

/** Cached by object identity: a chain that has not changed is the same object. */
const exits = new WeakMap<Chain, Exits>();
const targets = new WeakMap<NftSet, readonly string[]>();

function exitsOf(chain: Chain): Exits {
  const found = exits.get(chain);
  if (found !== undefined) return found;
  const exprs = chain.rules.flatMap(rule => rule.exprs);
  const direct = exprs.map(expr => (expr.kind === 'verdict' ? targetOf(expr.verdict) : undefined));
  const made: Exits = {
    direct: [...new Set(direct)].filter(leadsOn),
    maps: [...new Set(exprs.flatMap(expr => (expr.kind === 'lookup' && expr.vmap ? [expr.set] : [])))],
  };
  exits.set(chain, made);
  return made;
}

function leadsOn(name: string | undefined): name is string {
  return name !== undefined && name !== INGRESS_CHAIN && !isDenialChain(name);
}

function targetsOf(map: NftSet | undefined): readonly string[] {
  if (map === undefined) return [];
  const found = targets.get(map);
  if (found !== undefined) return found;
  const named = [...map.elements.values()].map(({ verdict }) => targetOf(verdict));
  const made = [...new Set(named)].filter(leadsOn);
  targets.set(map, made);
  return made;
}
