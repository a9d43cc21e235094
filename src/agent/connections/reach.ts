/** Which local pods' packets come to a chain: those whose element of a pod map leads there, however far it goes on. */
import { podMap } from '../../compiler/base.ts';
import { isDenialChain } from '../../compiler/denied.ts';
import { INGRESS_CHAIN } from '../../compiler/program.ts';
import { classChain } from '../../compiler/unknownpods.ts';
import type { Address } from '../../model/address.ts';
import { targetOf } from '../../nft/plan/equal.ts';
import type { Chain, Family, NftSet, Table } from '../../nft/ruleset.ts';

/**
 * The local pods at an end of all connections that one of these chains may judge. What the hooks ask before they look up
 * the pod says nothing of connections that are open (connectionchecker.ts), and is reached by no pod.
 */
export function podsReaching(chains: ReadonlySet<string>, table: Table, family: Family): readonly Address[] {
  const reaches = reachOf(chains, table);
  return (['egress', 'ingress'] as const).flatMap(direction => {
    const elements = table.sets.get(podMap(direction, family).name)?.elements ?? new Map();
    return [...elements].filter(([, value]) => reaches(classChain(value))).map(([key]) => key as Address);
  });
}

/** The chains that judge open connections: those that the pod maps lead to. */
export function judgingChains(table: Table, family: Family): ReadonlySet<string> {
  const found = judging.get(table);
  if (found !== undefined) return found;
  const chains = new Set<string>();
  const visit = (name: string | undefined): void => {
    const chain = name === undefined ? undefined : table.chains.get(name);
    if (chain === undefined || chains.has(chain.name)) return;
    chains.add(chain.name);
    nextChains(chain, table).forEach(visit);
  };
  for (const direction of ['egress', 'ingress'] as const)
    for (const value of table.sets.get(podMap(direction, family).name)?.elements.values() ?? [])
      visit(classChain(value));
  judging.set(table, chains);
  return chains;
}

const judging = new WeakMap<Table, ReadonlySet<string>>();

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
  /** But the ways that every class has: on to the destination's ingress, and to the end of all that is denied. */
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
