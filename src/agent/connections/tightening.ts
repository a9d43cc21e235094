/**
 * Whether a commit may deny what was allowed before, and to whom. The batch names the objects that it touches; what
 * became of each of them is read off the rulesets from before and after it, so that it makes no difference whether an
 * object was changed or made anew. Where that is not sure the answer is yes: a yes costs a look at the connections, a
 * wrong no leaves one open.
 */

import { podMap } from '../../compiler/base.ts';
import { TUNNEL_CHAINS, TUNNEL_SETS } from '../../compiler/tunnelsin.ts';
import { classChain } from '../../compiler/unknownpods.ts';
import type { Address } from '../../model/address.ts';
import { hooksEqual, specsEqual, verdictsEqual } from '../../nft/plan/equal.ts';
import { changedKeys } from '../../nft/plan/history.ts';
import type { Op } from '../../nft/plan/op.ts';
import type { ElementKey, ElementValue, Family, NftSet, Ruleset, Table } from '../../nft/ruleset.ts';
import { type AffectedAddresses, merge } from './affected.ts';
import { loosens, loosensAt } from './loosens.ts';
import { podsReaching } from './reach.ts';
import { NO_USES, type Use, usesOf } from './uses.ts';

/** `before` is what was programmed before `ops`, or undefined where nobody knows. */
export function affectedAddresses(
  before: Ruleset | undefined,
  after: Ruleset,
  ops: readonly Op[],
): AffectedAddresses {
  if (before === undefined) return ops.length === 0 ? 'nobody' : 'everybody';
  let affected: AffectedAddresses = 'nobody';
  for (const [family, touched] of touchedBy(ops)) {
    const tables = { before: before.tables.get(family), after: after.tables.get(family) };
    if (touched === 'table' || tables.before === undefined || tables.after === undefined) return 'everybody';
    affected = merge(affected, affectedIn(family, touched, tables.before, tables.after));
  }
  return affected;
}

/** The objects of a table that a batch names, or the table itself. */
type Touched = 'table' | { readonly chains: Set<string>; readonly sets: Set<string> };

function touchedBy(ops: readonly Op[]): ReadonlyMap<Family, Touched> {
  const found = new Map<Family, Touched>();
  for (const op of ops) {
    if (op.family === 'bridge') continue; // who may send as whom: no connection is judged anew by it
    const touched = found.get(op.family) ?? { chains: new Set<string>(), sets: new Set<string>() };
    if (op.op === 'addTable' || op.op === 'delTable') found.set(op.family, 'table');
    else found.set(op.family, touched);
    if (touched === 'table') continue;
    if ('chain' in op) touched.chains.add(op.chain);
    if ('set' in op) touched.sets.add(typeof op.set === 'string' ? op.set : op.set.name);
  }
  return found;
}

function affectedIn(
  family: Family,
  touched: Exclude<Touched, 'table'>,
  before: Table,
  after: Table,
): AffectedAddresses {
  if (changesTunnels(touched, before, after)) return 'everybody';
  const chains = new Set([...touched.chains].filter(name => isTighter(name, before, after)));
  const addresses = new Set<Address>();
  for (const name of touched.sets) {
    const tighter = tighterSet(family, before.sets.get(name), after.sets.get(name), { before, after });
    for (const address of tighter.addresses) addresses.add(address);
    for (const chain of tighter.chains) chains.add(chain);
  }
  if (chains.size > 0) for (const address of podsReaching(chains, after, family)) addresses.add(address);
  return addresses.size === 0 ? 'nobody' : addresses;
}

/** A tunnel of the node's came or went, or a node with its pod network did: that is seldom, and no class says whom it concerns. */
function changesTunnels(touched: Exclude<Touched, 'table'>, before: Table, after: Table): boolean {
  const isOther = (name: string) =>
    after.chains.has(name) && (!before.chains.has(name) || isTighter(name, before, after));
  if (Object.values(TUNNEL_CHAINS).some(name => touched.chains.has(name) && isOther(name))) return true;
  const { elements } = after.sets.get(TUNNEL_SETS.ports) ?? { elements: new Map() };
  const known = before.sets.get(TUNNEL_SETS.ports)?.elements;
  return touched.sets.has(TUNNEL_SETS.ports) && [...elements.keys()].some(port => known?.has(port) !== true);
}

/** A chain that is new is reached, and one that goes was reached, by a rule or an element that is touched too. */
function isTighter(name: string, before: Table, after: Table): boolean {
  const [was, is] = [before.chains.get(name), after.chains.get(name)];
  if (was === undefined || is === undefined || was === is) return false;
  return !hooksEqual(was, is) || !loosens(was.rules, is.rules);
}

/** What a change of a set denies: whatever has one of the addresses, and whatever one of the chains judges. */
interface Tighter {
  readonly addresses: readonly Address[];
  readonly chains: readonly string[];
}

const NOTHING: Tighter = { addresses: [], chains: [] };

interface Tables {
  readonly before: Table;
  readonly after: Table;
}

function tighterSet(
  family: Family,
  was: NftSet | undefined,
  is: NftSet | undefined,
  tables: Tables,
): Tighter {
  const name = (is ?? was)?.name ?? '';
  if (name === podMap('egress', family).name || name === podMap('ingress', family).name)
    return { ...NOTHING, addresses: otherClass(was, is) };
  // No class looks it up, and tunnels that are open are judged by it all the same (connectionchecker.ts).
  if (name === TUNNEL_SETS.ends && was && is)
    return { ...NOTHING, addresses: tighterMembers(differentKeys(was, is), was, is, 'deny').map(addressOf) };
  // Like a chain: a rule that names it is new, or goes.
  if (was === undefined || is === undefined || was === is) return NOTHING;
  const { use, chains } = usesOf(tables.after, family).get(name) ?? NO_USES;
  if (use === undefined) return NOTHING; // It has no say on what is open.
  const users = { ...NOTHING, chains };
  if (!specsEqual(was, is)) return users;
  const keys = differentKeys(was, is);
  if (is.verdicts) return keys.every(key => loosensAtKey(key, was, is, tables)) ? NOTHING : users;
  const tighter = tighterMembers(keys, was, is, use);
  if (tighter.length === 0) return NOTHING;
  return isOfAddresses(is) ? { ...NOTHING, addresses: tighter.map(addressOf) } : users;
}

/** The pods that lead to a class now, and led to another before, or to none. */
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

function loosensAtKey(key: ElementKey, was: NftSet, is: NftSet, { before, after }: Tables): boolean {
  const [valueBefore, valueAfter] = [was.elements.get(key), is.elements.get(key)];
  if (verdictsEqual(valueBefore?.verdict, valueAfter?.verdict)) return true;
  return loosensAt(valueBefore, valueAfter, before, after);
}

/** The members that came to deny, or went and allowed. */
function tighterMembers(keys: readonly ElementKey[], was: NftSet, is: NftSet, use: Use): ElementKey[] {
  const changed = keys.filter(key => was.elements.has(key) !== is.elements.has(key));
  return changed.filter(key => (is.elements.has(key) ? use !== 'allow' : use !== 'deny'));
}

function isOfAddresses({ interval, key }: NftSet): boolean {
  return !interval && ['ipv4_addr', 'ipv6_addr'].includes(key[0] ?? '');
}

/** `10.0.0.1 . tcp . 80`: the address comes first. */
function addressOf(key: ElementKey): Address {
  const end = key.indexOf(' ');
  return (end === -1 ? key : key.slice(0, end)) as Address;
}
