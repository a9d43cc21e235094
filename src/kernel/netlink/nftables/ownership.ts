/**
 * The owner of our tables (NFTA_TABLE_FLAGS). Only its owner can change a table that has one, and `nft flush ruleset`
 * leaves it. With PERSIST the table remains when its owner's socket is closed, as an orphan that another can adopt:
 *
 *   absent ──added──▶ owned ──socket closed──▶ orphan ──adopted──▶ owned
 *
 * Any process can make a table without an owner dormant (DORMANT): the table exists, but none of its hooks is called.
 */
import type { Op } from '../../../nft/plan/op.ts';
import { TABLE_FAMILIES, type TableFamily } from '../../../nft/ruleset.ts';
import { TABLE_F } from './constants.ts';
import { RulesetReader } from './decode.ts';
import type { ExistingTable } from './encode.ts';
import type { Exchange } from './exchange.ts';
import { readTable } from './read-ruleset.ts';

/** OWNER is never used without PERSIST: the table would vanish with its maker, and its policy with it. */
export const OWNED = TABLE_F.OWNER | TABLE_F.PERSIST;

/** NFTA_TABLE_FLAGS of the tables that exist. */
export type TableFlagsByFamily = ReadonlyMap<TableFamily, number>;

/** Reads the flags of our tables, in microseconds. */
export function readTableFlags(exchange: Exchange): TableFlagsByFamily {
  const reader = new RulesetReader();
  for (const family of TABLE_FAMILIES) readTable(exchange, family, reader);
  return reader.flags();
}

const NONE: readonly ExistingTable[] = [];

export class Ownership {
  /** The flags for tables that we make or adopt; 0 on kernels without PERSIST. */
  readonly tableFlags: number;
  readonly #flags = new Map<TableFamily, number>();
  /** The tables that exist, as they are. */
  existing: readonly ExistingTable[] = NONE;
  /** Orphaned tables that the next batch has to adopt. */
  #orphans: readonly ExistingTable[] = NONE;

  constructor(tableFlags: number, existing: TableFlagsByFamily) {
    this.tableFlags = tableFlags;
    this.saw(existing);
  }

  /** Flags as they were read from the kernel. */
  saw(flags: TableFlagsByFamily): void {
    for (const family of TABLE_FAMILIES) this.#set(family, flags.get(family));
  }

  /** The tables to take over, or to wake, before a batch. One that the batch takes away is not worth it. */
  adoptable(ops: readonly Op[]): readonly ExistingTable[] {
    return this.#orphans.length === 0 ? NONE : this.#orphans.filter(({ family }) => !deletes(ops, family));
  }

  /** Call it after a batch that began by naming the tables `named`. */
  committed(ops: readonly Op[], named: readonly ExistingTable[]): void {
    for (const { family, flags } of named) this.#set(family, flags);
    for (const op of ops) {
      if (op.op === 'delTable') this.#set(op.family, undefined);
      if (op.op === 'addTable') this.#set(op.family, this.tableFlags);
    }
  }

  #set(family: TableFamily, flags: number | undefined): void {
    if (flags === undefined) this.#flags.delete(family);
    else this.#flags.set(family, flags);
    this.existing = Array.from(this.#flags, ([of, itsFlags]) => ({ family: of, flags: itsFlags }));
    this.#orphans = this.existing.filter(this.tableFlags === OWNED ? isOrphan : isDormant).map(takenOver);
  }
}

function isOrphan({ flags }: ExistingTable): boolean {
  return (flags & OWNED) === TABLE_F.PERSIST;
}

/** Another process cannot make an owned table dormant; an orphan is adopted, which wakes it. */
function isDormant({ flags }: ExistingTable): boolean {
  return (flags & TABLE_F.DORMANT) !== 0 && (flags & OWNED) === 0;
}

function takenOver(table: ExistingTable): ExistingTable {
  return { ...table, flags: isOrphan(table) ? OWNED : table.flags & ~TABLE_F.DORMANT };
}

function deletes(ops: readonly Op[], family: TableFamily): boolean {
  return ops.some(op => op.op === 'delTable' && op.family === family);
}
