/** The node's tunnels in programmed rules, and the names of the chains and sets that match them. */
import type { NodeLinks, Tunnels } from '../model/cluster.ts';
import type { NftRule, Ruleset } from '../nft/ruleset.ts';

export const TUNNEL_CHAINS = {
  from: 'to-tunnels',
  here: 'tunnels-here',
  through: 'tunnels-through',
} as const;
export const TUNNEL_SETS = {
  ports: 'tunnel-ports',
  ownPorts: 'own-tunnel-ports',
  ends: 'tunnel-ends',
} as const;
export const OUT_OF_NETWORKS = 'from a pod into a tunnel, out of the pod networks';

/** The tunnels in programmed rules; undefined if the rules do not match tunnels. */
export function tunnelsIn({ tables }: Ruleset): Pick<NodeLinks, 'tunnels' | 'podTunnels'> {
  const table = tables.get('ip') ?? tables.get('ip6');
  const ports = table?.sets.get(TUNNEL_SETS.ownPorts);
  if (table === undefined || ports === undefined) return {};
  const chain = table.chains.get(TUNNEL_CHAINS.from);
  const found: Tunnels = {
    ports: [...ports.elements.keys()].map(Number).sort((a, b) => a - b),
    protocols: (chain?.rules ?? []).filter(({ comment }) => comment === OUT_OF_NETWORKS).flatMap(protocolOf),
  };
  return {
    ...(found.ports.length + found.protocols.length > 0 && { tunnels: found }),
    ...(chain === undefined && { podTunnels: 'allow' as const }),
  };
}

/** The protocol that a rule compares, unless it is UDP, which has ports. */
function protocolOf({ exprs }: NftRule): number[] {
  if (exprs.some(expr => expr.kind === 'lookup' && expr.set === TUNNEL_SETS.ownPorts)) return [];
  const compared = exprs.find(expr => expr.kind === 'cmp');
  return compared === undefined ? [] : [Number.parseInt(compared.data, 16)];
}
