/** Which pods the programmed rules isolate: what a predecessor knew of NetworkPolicies that may be deleted by now. */

import { getOrMake } from '../lib/collections/getormake.ts';
import { FAMILIES } from '../model/address.ts';
import type { PodKey } from '../model/cluster.ts';
import type { Direction } from '../model/policy.ts';
import type { Chain, Ruleset, Table } from '../nft/ruleset.ts';
import { podMap } from './base.ts';
import { ISOLATED } from './program.ts';
import { classChain } from './unknownpods.ts';

/** The directions in which NetworkPolicies isolate a pod, by the pod's mark (podmark.ts). */
export type IsolatedPods = ReadonlyMap<PodKey, ReadonlySet<Direction>>;

export function isolatedPodsIn({ tables }: Ruleset): IsolatedPods {
  const isolated = new Map<PodKey, Set<Direction>>();
  for (const family of FAMILIES) {
    const table = tables.get(family);
    if (table === undefined) continue;
    for (const direction of ['ingress', 'egress'] as const)
      for (const pod of podsOf(table, podMap(direction, family).name))
        getOrMake(isolated, pod, () => new Set()).add(direction);
  }
  return isolated;
}

function* podsOf(table: Table, map: string): Generator<PodKey> {
  for (const element of table.sets.get(map)?.elements.values() ?? []) {
    const chain = classChain(element);
    if (element.comment !== undefined && chain !== undefined && isolates(table, chain))
      yield element.comment as PodKey;
  }
}

/** Whether the last rule of the chain isolates, or that of the chain of the tier that it leads to. */
function isolates({ chains }: Table, name: string): boolean {
  const targets = (chains.get(name)?.rules ?? []).flatMap(({ exprs }) =>
    exprs.flatMap(expr => (expr.kind === 'verdict' && 'chain' in expr.verdict ? [expr.verdict.chain] : [])),
  );
  return [name, ...targets].some(chain => endsIsolated(chains.get(chain)));
}

function endsIsolated(chain: Chain | undefined): boolean {
  return chain?.rules.at(-1)?.comment?.startsWith(ISOLATED) ?? false;
}
