/** One table of the fake kernel. A clone shares all content with its original until it changes it. */
import { assertNever } from '../../../src/lib/text/assert.ts';
import { targetOf } from '../../../src/nft/plan/equal.ts';
import type { Op } from '../../../src/nft/plan/op.ts';
import type {
  Chain,
  ElementValue,
  Expr,
  NftRule,
  NftSet,
  NftVerdict,
  SetSpec,
  Table,
} from '../../../src/nft/ruleset.ts';
import { refuseDeepJumps } from './depth.ts';
import { refuseFib, refuseHook, refuseMisplaced } from './placement.ts';
import { ofElement, Refusal } from './refusal.ts';
import { LoadedRegisters } from './registers.ts';
import { FakeSet } from './set.ts';
import { refuseLargeRule, refuseLimit, refuseLongName, refuseLongPrefix } from './sizes.ts';

type OpOf<Name extends Op['op']> = Extract<Op, { op: Name }>;

export class FakeTable {
  #chains = new Map<string, Chain>();
  #sets = new Map<string, FakeSet>();
  /** How many rules and elements lead to a chain. */
  #chainUses = new Uses();
  /** How many rules look up a set. */
  #setUses = new Uses();

  clone(): FakeTable {
    const clone = new FakeTable();
    clone.#chains = new Map(this.#chains);
    clone.#sets = new Map([...this.#sets].map(([name, set]) => [name, set.clone()]));
    clone.#chainUses = new Uses(this.#chainUses);
    clone.#setUses = new Uses(this.#setUses);
    return clone;
  }

  /** A copy that later changes of the table do not affect. */
  snapshot(): Table {
    const sets = [...this.#sets].map(([name, set]): [string, NftSet] => [name, set.snapshot()]);
    return { sets: new Map(sets), chains: new Map(this.#chains) };
  }

  /** Answers whether the step changed anything. */
  apply(op: Exclude<Op, { op: 'addTable' | 'delTable' }>): boolean {
    switch (op.op) {
      case 'addSet':
        return this.#addSet(op);
      case 'delSet':
        return this.#delSet(op.set);
      case 'addChain':
        return this.#addChain(op);
      case 'delChain':
        return this.#delChain(op.chain);
      case 'flushChain':
        return this.#flushChain(op.chain);
      case 'addRule':
        return this.#addRule(op);
      case 'addElements':
        return this.#addElements(op);
      case 'delElements':
        return this.#delElements(op);
      default:
        return assertNever(op);
    }
  }

  /** The kernel's checks and changes after all operations of a batch. */
  seal(): void {
    refuseDeepJumps(this.#chains, this.#sets);
    refuseMisplaced(this.#chains, this.#sets);
  }

  #addSet({ set, size }: OpOf<'addSet'>): boolean {
    if (this.#sets.has(set.name)) throw new Refusal('EEXIST', 'it exists already');
    this.#sets.set(set.name, new FakeSet(set, size));
    return true;
  }

  #delSet(name: string): boolean {
    const set = this.#set(name);
    if (this.#setUses.has(name)) throw new Refusal('EBUSY', 'still in use');
    for (const value of set.elements.values()) this.#release(value.verdict);
    return this.#sets.delete(name);
  }

  #addChain({ chain: name, hook }: OpOf<'addChain'>): boolean {
    const current = this.#chains.get(name);
    if (current !== undefined && hook !== undefined && current.hook === undefined)
      throw new Refusal('EOPNOTSUPP', 'it exists already, without a hook');
    if (current !== undefined) throw new Refusal('EEXIST', 'it exists already');
    if (hook !== undefined) refuseHook(hook);
    this.#chains.set(name, { name, ...(hook !== undefined && { hook }), rules: [] });
    return true;
  }

  #delChain(name: string): boolean {
    this.#chain(name);
    // A jump of the chain's own rules to itself counts, too, although they would be deleted with it.
    if (this.#chainUses.has(name)) throw new Refusal('EBUSY', 'still in use');
    this.#flushChain(name);
    return this.#chains.delete(name);
  }

  #flushChain(name: string): boolean {
    const chain = this.#chain(name);
    for (const rule of chain.rules) this.#releaseRule(rule);
    this.#chains.set(name, { ...chain, rules: [] });
    return chain.rules.length > 0;
  }

  #addRule({ chain: name, rule }: OpOf<'addRule'>): boolean {
    const chain = this.#chain(name);
    refuseLargeRule(rule);
    const loaded = new LoadedRegisters();
    for (const expr of rule.exprs) this.#useAll(expr, loaded);
    this.#chains.set(name, { ...chain, rules: [...chain.rules, rule] });
    return true;
  }

  #addElements({ set: spec, elements }: OpOf<'addElements'>): boolean {
    const set = this.#setLike(spec);
    let changes = false;
    for (const [key, value] of elements)
      changes = ofElement(key, () => this.#addElement(set, key, value)) || changes;
    return changes;
  }

  #addElement(set: FakeSet, key: string, value: ElementValue): boolean {
    if (!set.takes(value))
      throw new Refusal('EINVAL', 'verdicts and data are for maps, and every element of a map has its own');
    this.#checkTarget(value.verdict);
    if (!set.add(key, value)) return false;
    this.#hold(value.verdict);
    return true;
  }

  #delElements({ set: spec, keys }: OpOf<'delElements'>): boolean {
    const set = this.#setLike(spec);
    for (const key of keys) ofElement(key, () => this.#release(set.delete(key).verdict));
    return keys.length > 0;
  }

  #useAll(expr: Expr, loaded: LoadedRegisters): void {
    if (expr.kind === 'lookup') this.#useSet(expr);
    if (expr.kind === 'dynset') this.#useDynamicSet(expr);
    if (expr.kind === 'fib') refuseFib(expr);
    if (expr.kind === 'log') refuseLongPrefix(expr);
    if (expr.kind === 'limit') refuseLimit(expr);
    loaded.follow(expr, 'set' in expr ? this.#set(expr.set).spec : undefined);
    if (expr.kind !== 'verdict') return;
    this.#checkTarget(expr.verdict);
    this.#hold(expr.verdict);
  }

  #useSet({ set: name, vmap, invert, dreg }: Expr & { kind: 'lookup' }): void {
    const set = this.#set(name);
    if (vmap && (invert || !set.verdicts)) throw new Refusal('EINVAL', `${name} is not a map to look up`);
    if (dreg !== undefined && (invert || !set.hasData))
      throw new Refusal('EINVAL', `${name} is not a map to data`);
    this.#setUses.add(name);
  }

  #useDynamicSet({ set: name }: Expr & { kind: 'dynset' }): void {
    if (!this.#set(name).isDynamic) throw new Refusal('EOPNOTSUPP', `${name} is not dynamic`);
    this.#setUses.add(name);
  }

  #checkTarget(verdict: NftVerdict | undefined): void {
    const target = targetOf(verdict);
    if (target === undefined) return;
    if (this.#chain(target).hook !== undefined)
      throw new Refusal('EOPNOTSUPP', `${target} is a base chain: nothing can jump to it`);
  }

  #hold(verdict: NftVerdict | undefined): void {
    const target = targetOf(verdict);
    if (target !== undefined) this.#chainUses.add(target);
  }

  #release(verdict: NftVerdict | undefined): void {
    const target = targetOf(verdict);
    if (target !== undefined) this.#chainUses.delete(target);
  }

  #releaseRule({ exprs }: NftRule): void {
    for (const expr of exprs) {
      if (expr.kind === 'lookup' || expr.kind === 'dynset') this.#setUses.delete(expr.set);
      if (expr.kind === 'verdict') this.#release(expr.verdict);
    }
  }

  #setLike(spec: SetSpec): FakeSet {
    const set = this.#set(spec.name);
    // Bytes of another key would mean nothing that can be foretold.
    if (!set.isLike(spec)) throw new TypeError(`set ${spec.name} exists, and is of another kind`);
    return set;
  }

  #set(name: string): FakeSet {
    refuseLongName(name);
    const set = this.#sets.get(name);
    if (set === undefined) throw new Refusal('ENOENT', `set ${name} does not exist`);
    return set;
  }

  #chain(name: string): Chain {
    refuseLongName(name);
    const chain = this.#chains.get(name);
    if (chain === undefined) throw new Refusal('ENOENT', `chain ${name} does not exist`);
    return chain;
  }
}

/** Counts of users by name. */
class Uses {
  readonly #counts: Map<string, number>;

  constructor(other?: Uses) {
    this.#counts = new Map(other === undefined ? [] : other.#counts);
  }

  has(name: string): boolean {
    return (this.#counts.get(name) ?? 0) > 0;
  }

  add(name: string): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  delete(name: string): void {
    this.#counts.set(name, this.#counts.get(name)! - 1);
  }
}
