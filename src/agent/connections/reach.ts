/** Which local pods' packets come to a chain: those whose element of a pod map leads there, however far it goes on. */
import { podMap } from '../../compiler/base.ts';
import { INGRESS_CHAIN } from '../../compiler/program.ts';
import { classChain } from '../../compiler/unknownpods.ts';
import type { Address } from '../../model/address.ts';
import { targetOf } from '../../nft/plan/equal.ts';
import type { Chain, Family, NftSet, Table } from '../../nft/ruleset.ts';

/** The local pods at an end of all connections that one of these chains may judge; everybody for a common chain. */
export function podsReaching(
  chains: ReadonlySet<string>,
  table: Table,
  family: Family,
): 'everybody' | readonly Address[] {
  if ([...chains].some(name => isCommon(name, table))) return 'everybody';
  const reaches = reachOf(chains, table);
  return (['egress', 'ingress'] as const).flatMap(direction => {
    const elements = table.sets.get(podMap(direction, family).name)?.elements ?? new Map();
    return [...elements].filter(([, value]) => reaches(classChain(value))).map(([key]) => key as Address);
  });
}

/** Packets of all pods come there. */
function isCommon(name: string, { chains }: Table): boolean {
  return name === INGRESS_CHAIN || chains.get(name)?.hook !== undefined;
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
  /** But the way on to the destination's ingress. */
  readonly direct: readonly string[];
  readonly maps: readonly string[];
}

/** What has not changed is the same object. */
const exits = new WeakMap<Chain, Exits>();
const targets = new WeakMap<NftSet, readonly string[]>();

function exitsOf(chain: Chain): Exits {
  const found = exits.get(chain);
  if (found !== undefined) return found;
  const exprs = chain.rules.flatMap(rule => rule.exprs);
  const direct = exprs.map(expr => (expr.kind === 'verdict' ? targetOf(expr.verdict) : undefined));
  const made: Exits = {
    direct: [...new Set(direct)].filter(name => name !== undefined && name !== INGRESS_CHAIN) as string[],
    maps: [...new Set(exprs.flatMap(expr => (expr.kind === 'lookup' && expr.vmap ? [expr.set] : [])))],
  };
  exits.set(chain, made);
  return made;
}

function targetsOf(map: NftSet | undefined): readonly string[] {
  if (map === undefined) return [];
  const found = targets.get(map);
  if (found !== undefined) return found;
  const named = [...map.elements.values()].map(({ verdict }) => targetOf(verdict));
  const made = [...new Set(named)].filter(name => name !== undefined && name !== INGRESS_CHAIN) as string[];
  targets.set(map, made);
  return made;
}
