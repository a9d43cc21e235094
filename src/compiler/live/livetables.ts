/**
 * The tables of the desired state. The engine's parts name the chains and sets that have changed since the last flush,
 * and only those are looked at. What did not change stays the same object, up to the whole ruleset.
 */
import type { Family } from '../../model/address.ts';
import { withChanges } from '../../nft/plan/history.ts';
import type { Chain, NftSet, Ruleset, Table, TableFamily } from '../../nft/ruleset.ts';
import type { TablePart } from '../attachedpods.ts';

/** Objects by name; undefined for an object that is removed. */
interface Changes {
  readonly chains: Map<string, Chain | undefined>;
  readonly sets: Map<string, NftSet | undefined>;
}

const EMPTY: Table = { chains: new Map(), sets: new Map() };
const NOTHING: TablePart = { chains: [], sets: [] };

export class LiveTables {
  readonly #changes: Record<Family, Changes> = { ip: noChanges(), ip6: noChanges() };
  /** The chains and sets that `setPart` replaces as a whole, as of its last call for each part. */
  readonly #parts: Record<Family, Map<string, TablePart>> = { ip: new Map(), ip6: new Map() };
  #ruleset: Ruleset = {
    tables: new Map([
      ['ip', EMPTY],
      ['ip6', EMPTY],
    ]),
  };

  setChain(family: Family, name: string, chain: Chain | undefined): void {
    this.#changes[family].chains.set(name, chain);
  }

  setSet(family: Family, name: string, set: NftSet | undefined): void {
    this.#changes[family].sets.set(name, set);
  }

  /** Replaces a part as a whole. A list that is the same object as in the last call has not changed. */
  setPart(family: Family, name: string, part: TablePart): void {
    const before = this.#parts[family].get(name) ?? NOTHING;
    const { chains, sets } = this.#changes[family];
    if (before.chains !== part.chains) replace(chains, before.chains, part.chains);
    if (before.sets !== part.sets) replace(sets, before.sets, part.sets);
    this.#parts[family].set(name, part);
  }

  /** The tables with all changes since the last call; the same object where there are none. */
  ruleset(bridge: Table | undefined): Ruleset {
    const { tables } = this.#ruleset;
    const [ip, ip6] = [this.#changed('ip', tables.get('ip')!), this.#changed('ip6', tables.get('ip6')!)];
    const isSame = ip === tables.get('ip') && ip6 === tables.get('ip6') && bridge === tables.get('bridge');
    if (isSame) return this.#ruleset;
    const both: [TableFamily, Table][] = [
      ['ip', ip],
      ['ip6', ip6],
    ];
    this.#ruleset = { tables: new Map(bridge === undefined ? both : [...both, ['bridge', bridge]]) };
    return this.#ruleset;
  }

  #changed(family: Family, table: Table): Table {
    const { chains, sets } = this.#changes[family];
    if (chains.size + sets.size === 0) return table;
    const changed = {
      chains: withChanges(table.chains, byName(chains)),
      sets: withChanges(table.sets, byName(sets)),
    };
    chains.clear();
    sets.clear();
    return changed.chains === table.chains && changed.sets === table.sets ? table : changed;
  }
}

function noChanges(): Changes {
  return { chains: new Map(), sets: new Map() };
}

function replace<T extends { readonly name: string }>(
  changes: Map<string, T | undefined>,
  before: readonly T[],
  now: readonly T[],
): void {
  for (const { name } of before) changes.set(name, undefined);
  for (const object of now) changes.set(object.name, object);
}

/** The changed objects sorted by name, so that their order does not depend on which part changed first. */
function byName<T>(changes: ReadonlyMap<string, T>): [string, T][] {
  return [...changes].sort(([a], [b]) => (a < b ? -1 : 1));
}
