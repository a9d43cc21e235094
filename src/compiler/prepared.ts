/**
 * Objects that are prepared for later changes: filled peer groups (live/preparations/preparations.ts) and staged chains
 * (live/preparations/preparedclasses.ts). They are programmed, but no packet reaches them, and they are not part of
 * what policy needs now.
 */
import {
  type Chain,
  type Expr,
  mapTables,
  type NftSet,
  type NftVerdict,
  type Ruleset,
  type Table,
} from '../nft/ruleset.ts';

/** Names with a hash (names.ts), which all objects of classes have. */
const OF_CLASSES = /^[a-z]+-[0-9A-HJKMNP-TV-Z]{26}(-|$)/;

/** `desired` with the prepared objects of `programmed`, which change the verdict of no packet. */
export function withPrepared(desired: Ruleset, programmed: Ruleset): Ruleset {
  return mapTables(desired, (table, family) => {
    const there = programmed.tables.get(family);
    const prepared = there && preparedIn(there);
    if (prepared === undefined) return table;
    return { sets: withMore(table.sets, prepared.sets), chains: withMore(table.chains, prepared.chains) };
  });
}

function withMore<T>(wanted: ReadonlyMap<string, T>, prepared: ReadonlyMap<string, T>): Map<string, T> {
  return new Map([...wanted, ...[...prepared].filter(([name]) => !wanted.has(name))]);
}

function preparedIn(table: Table): Table {
  const inForce = reached(table);
  const isPrepared = ([name]: [string, Chain | NftSet]) => OF_CLASSES.test(name) && !inForce.has(name);
  return {
    sets: new Map([...table.sets].filter(isPrepared)),
    chains: new Map([...table.chains].filter(isPrepared)),
  };
}

/** The names of the chains and sets that packets reach. */
function reached({ chains, sets }: Table): ReadonlySet<string> {
  const names = new Set([...chains.values()].flatMap(({ name, hook }) => (hook === undefined ? [] : name)));
  for (const name of names) // names that are added in the loop are visited too
    for (const other of [...namedByChain(chains.get(name)), ...namedBySet(sets.get(name))]) names.add(other);
  return names;
}

function namedByChain(chain: Chain | undefined): string[] {
  return (chain?.rules ?? []).flatMap(({ exprs }) => exprs.flatMap(namedBy));
}

function namedBy(expr: Expr): string[] {
  if ('set' in expr) return [expr.set];
  return expr.kind === 'verdict' ? chainOf(expr.verdict) : [];
}

function namedBySet(set: NftSet | undefined): string[] {
  if (!set?.verdicts) return []; // a set of plain members may have hundreds of thousands
  return [...set.elements.values()].flatMap(({ verdict }) => (verdict === undefined ? [] : chainOf(verdict)));
}

function chainOf(verdict: NftVerdict): string[] {
  return 'chain' in verdict ? [verdict.chain] : [];
}
