/**
 * A kernel in memory, as strict and as atomic as the real one: every refusal here was seen there. One contract
 * suite runs on both, and random batches are compared on both.
 */

import { FAMILIES } from '../../../src/model/address.ts';
import {
  type Generation,
  type Kernel,
  KernelError,
  type Owner,
  type Snapshot,
} from '../../../src/nft/kernel.ts';
import { type MissingFeature, NO_OWNERS } from '../../../src/nft/missingfeature.ts';
import { type Op, opText } from '../../../src/nft/plan/op.ts';
import { refusedText } from '../../../src/nft/plan/refusedtext.ts';
import type { Table, TableFamily } from '../../../src/nft/ruleset.ts';
import { refuseUnencodable } from './encodable.ts';
import { Refusal } from './refusal.ts';
import { refuseLargeStep } from './sizes.ts';
import { FakeTable } from './table.ts';

/** The nf_tables of one network namespace, which several kernels may be opened on. */
class FakeState {
  /** Whether tables have owners. */
  readonly owners: boolean;
  tables: ReadonlyMap<TableFamily, FakeTable> = new Map();
  generation: Generation = 1;
  owner: FakeKernel | undefined;
  /** Whether tables without an owner can be adopted. */
  adoptable = true;

  constructor(owners: boolean) {
    this.owners = owners;
  }
}

export class FakeKernel implements Kernel {
  readonly queue = 'nft';
  readonly #state: FakeState;
  #closed = false;

  /** With `owners`, a table belongs to the first socket that commits to it; without, any socket may change it. */
  constructor({ owners = false, state = new FakeState(owners) } = {}) {
    this.#state = state;
  }

  get missingFeatures(): readonly MissingFeature[] {
    return this.#state.owners ? [] : [NO_OWNERS];
  }

  /** Another socket in the same network namespace. */
  another(): FakeKernel {
    return new FakeKernel({ state: this.#state });
  }

  async dump(): Promise<Snapshot> {
    this.#refuseIfClosed();
    const tables = [...this.#state.tables].map(([family, table]): [TableFamily, Table] => [
      family,
      table.snapshot(),
    ]);
    return { ruleset: { tables: new Map(tables) }, generation: this.#state.generation };
  }

  async generation(): Promise<Generation> {
    this.#refuseIfClosed();
    return this.#state.generation;
  }

  async owner(): Promise<Owner> {
    this.#refuseIfClosed();
    const { owner, owners, tables } = this.#state;
    if (!owners) return 'shared';
    if (owner === undefined || tables.size < FAMILIES.length) return 'none';
    return owner === this ? 'us' : 'another';
  }

  async commit(ops: readonly Op[], expected?: Generation): Promise<Generation> {
    this.#refuseIfClosed();
    const state = this.#state;
    if (expected !== undefined && expected !== state.generation) throw stale(ops);
    if (state.owner !== undefined && state.owner !== this && ops.length > 0) throw owned(ops);
    if (this.#adopts(ops)) this.#own();
    const { tables, changes } = execute(state.tables, ops);
    // Elements that exist already, a chain that is empty already: what changes nothing makes no generation.
    if (!changes) return state.generation;
    state.tables = tables;
    if (tables.size === 0) state.owner = undefined;
    else if (state.owners && makesTable(ops)) state.owner = this;
    state.generation = after(state.generation);
    return state.generation;
  }

  /** Another process changes tables of its own in the same network namespace. */
  touch(): void {
    this.#state.generation = after(this.#state.generation);
  }

  /** Puts the same tables up by hand, without an owner, as when a listing is loaded: they cannot be adopted. */
  disown(): void {
    this.#state.owner = undefined;
    this.#state.adoptable = false;
  }

  close(): void {
    this.#closed = true;
    if (this.#state.owner === this) this.#state.owner = undefined;
  }

  /** Whether tables without an owner are taken over, as they are, before the change. */
  #adopts(ops: readonly Op[]): boolean {
    const { owners, owner, adoptable, tables } = this.#state;
    if (!owners || owner !== undefined || !adoptable) return false;
    return [...tables.keys()].some(family => !ops.some(op => op.op === 'delTable' && op.family === family));
  }

  /** A batch of its own: it stays where what follows is refused. */
  #own(): void {
    this.#state.owner = this;
    this.#state.generation = after(this.#state.generation);
  }

  #refuseIfClosed(): void {
    if (this.#closed) throw new KernelError('EBADF', 'EBADF: this kernel was closed');
  }
}

interface Outcome {
  readonly tables: ReadonlyMap<TableFamily, FakeTable>;
  readonly changes: boolean;
}

/**
 * Like the kernel, looks at the depth of jumps at the end; where they are too deep it does all steps once more, with
 * a look behind each that adds a jump, to name the one that is refused.
 */
function execute(before: ReadonlyMap<TableFamily, FakeTable>, ops: readonly Op[]): Outcome {
  for (const op of ops) tryTo(op, ops, () => refuseUnencodable(op));
  try {
    return run(before, ops, false);
  } catch (error) {
    if (error instanceof KernelError && error.op === undefined) run(before, ops, true);
    throw error;
  }
}

/** Tables are replaced, never changed: those from before stay as they were. */
function run(before: ReadonlyMap<TableFamily, FakeTable>, ops: readonly Op[], sealsSteps: boolean): Outcome {
  const tables = new Map(before);
  const drafts = new Set<FakeTable>();
  let changes = false;
  for (const op of ops) {
    changes = step(tables, drafts, op) || changes;
    if (sealsSteps && addsJumps(op)) tryTo(op, ops, () => tables.get(op.family)!.seal());
  }
  for (const table of drafts) tryTo(undefined, ops, () => table.seal());
  return { tables, changes };
}

function addsJumps({ op }: Op): boolean {
  return op === 'addRule' || op === 'addElements';
}

function step(tables: Map<TableFamily, FakeTable>, drafts: Set<FakeTable>, op: Op): boolean {
  return tryTo(op, [op], () => {
    refuseLargeStep(op);
    if (op.op === 'addTable') return addTable(tables, drafts, op.family);
    const current = tables.get(op.family);
    if (current === undefined) throw new Refusal('ENOENT', 'the table does not exist');
    if (op.op === 'delTable') {
      drafts.delete(current);
      return tables.delete(op.family);
    }
    return draftOf(tables, drafts, op.family, current).apply(op);
  });
}

function makesTable(ops: readonly Op[]): boolean {
  return ops.some(({ op }) => op === 'addTable');
}

function addTable(tables: Map<TableFamily, FakeTable>, drafts: Set<FakeTable>, family: TableFamily): boolean {
  if (tables.has(family)) throw new Refusal('EEXIST', 'it exists already');
  const table = new FakeTable();
  tables.set(family, table);
  drafts.add(table);
  return true;
}

function draftOf(
  tables: Map<TableFamily, FakeTable>,
  drafts: Set<FakeTable>,
  family: TableFamily,
  current: FakeTable,
): FakeTable {
  if (drafts.has(current)) return current;
  const draft = current.clone();
  tables.set(family, draft);
  drafts.add(draft);
  return draft;
}

function tryTo<T>(op: Op | undefined, ops: readonly Op[], work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { code, key } = error;
    const subject = op === undefined ? `a batch of ${ops.length} changes` : refusedText(op, key);
    throw new KernelError(code, `${code}: ${subject}: ${error.message}; nothing was changed`, { op, key });
  }
}

function stale(ops: readonly Op[]): KernelError {
  const message = `ERESTART: a batch of ${ops.length} changes: another process changed the rules meanwhile`;
  return new KernelError('ERESTART', message);
}

function owned(ops: readonly Op[]): KernelError {
  const subject = ops.length === 1 ? opText(ops[0]!) : `a batch of ${ops.length} changes`;
  return new KernelError('EPERM', `EPERM: ${subject}: another process owns the table; nothing was changed`);
}

function after(generation: Generation): Generation {
  return generation === 0xffffffff ? 1 : generation + 1;
}
