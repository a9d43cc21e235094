/** The links by which pods of this node send, as matches of rules: made, and read back. */
import { type Address, addressFromBytes } from '../model/address.ts';
import type { NodeLinks } from '../model/cluster.ts';
import { interfaceIs, interfaceKindIs } from '../nft/matchinterface.ts';
import type { Expr, NftRule, Ruleset } from '../nft/ruleset.ts';
import { OF_BRIDGE } from './broadcasts.ts';
import { bridgePortsIn, podPortsIn } from './portsets.ts';
import { tunnelsIn } from './tunnelsin.ts';

/** The chains for packets that arrive by such a link. */
export const FROM_PODS = { forward: 'from-pods', input: 'from-pods-to-node' } as const;

/** One match for each kind of link that leads to pods. */
export function podLinkMatches({
  uplinks,
  podBridges,
}: Omit<NodeLinks, 'podPorts' | 'bridgePorts'>): Expr[][] {
  const veth = [...uplinks.flatMap(index => interfaceIs('iif', index, true)), ...interfaceKindIs('veth')];
  return [veth, ...podBridges.map(index => interfaceIs('iif', index))];
}

/** The links in programmed rules. Manifests do not have them; only the node's agent knows them. */
export function nodeLinksIn(ruleset: Ruleset): NodeLinks {
  const rules = [...ruleset.tables.values()].flatMap(({ chains }) => chains.get('forward')?.rules ?? []);
  const indices = (op: 'eq' | 'neq') => [
    ...new Set(rules.filter(leadsFromPods).flatMap(rule => indicesOf(rule, op))),
  ];
  const [podPorts, bridgePorts] = [podPortsIn(ruleset), bridgePortsIn(ruleset)];
  const broadcasts = bridgeBroadcastsIn(ruleset);
  return {
    uplinks: indices('neq'),
    podBridges: indices('eq'),
    ...(broadcasts.length > 0 && { broadcasts }),
    ...tunnelsIn(ruleset),
    ...(podPorts && { podPorts }),
    ...(bridgePorts && { bridgePorts }),
  };
}

function bridgeBroadcastsIn({ tables }: Ruleset): Address[] {
  const rules = tables.get('ip')?.chains.get(FROM_PODS.forward)?.rules ?? [];
  const compared = rules.filter(({ comment }) => comment === OF_BRIDGE).flatMap(({ exprs }) => exprs);
  return compared.flatMap(expr =>
    expr.kind === 'cmp' ? [addressFromBytes(Buffer.from(expr.data, 'hex'))] : [],
  );
}

function leadsFromPods({ exprs }: NftRule): boolean {
  const last = exprs.at(-1);
  return last?.kind === 'verdict' && last.verdict.kind === 'goto' && last.verdict.chain === FROM_PODS.forward;
}

/** The interface indices that a rule matches. */
function indicesOf({ exprs }: NftRule, op: 'eq' | 'neq'): number[] {
  return exprs.flatMap((expr, at) => {
    const compared = exprs[at + 1];
    const isIndex =
      expr.kind === 'meta' && expr.key === 'iif' && compared?.kind === 'cmp' && compared.op === op;
    return isIndex ? [Buffer.from(compared.data, 'hex').readUInt32LE()] : [];
  });
}
