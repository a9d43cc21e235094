/**
 * Unknown pods: addresses of a node's pod networks that no pod has, as far as anybody has told us. A pod that has
 * just started is one until it is known, and where they are denied it can neither send nor receive before its rules
 * are in force, whether the agent lives or not.
 *
 * The deny comes behind the pod maps, which then know every local pod: one that has a class leads to it, any other
 * to what is allowed. So it costs one compare where no map knows the address, and nothing where one does.
 */

import type { Cidr, Family } from '../model/address.ts';
import type { Cluster } from '../model/cluster.ts';
import { podCidrsOf, type UnknownPods } from '../model/podcidrs.ts';
import type { Direction } from '../model/policy.ts';
import { type AddressField, addressInNetwork } from '../nft/match.ts';
import { isForwarded, notFromLoopback } from '../nft/matchinterface.ts';
import {
  type ElementValue,
  type Expr,
  mapChains,
  type NftRule,
  type NftVerdict,
  type Ruleset,
} from '../nft/ruleset.ts';
import { deny } from './denied.ts';
import { INGRESS_CHAIN } from './program.ts';

/** The node's pod networks in which unknown pods are denied. */
export function deniedNetworks({ nodes }: Cluster, node: string, unknownPods: UnknownPods): readonly Cidr[] {
  return unknownPods === 'deny' ? podCidrsOf(nodes.get(node)) : [];
}

/** What an element of a pod map says of a known pod that no policy affects in the direction. */
export const OPEN: Record<Direction, NftVerdict> = {
  egress: { kind: 'goto', chain: INGRESS_CHAIN },
  ingress: { kind: 'accept' },
};

/** The chain of the class that an element of a pod map leads to; none where the pod is open. */
export function classChain({ verdict }: ElementValue): string | undefined {
  return verdict !== undefined && 'chain' in verdict && verdict.chain !== INGRESS_CHAIN
    ? verdict.chain
    : undefined;
}

export type AskedIn = 'forward' | 'input' | typeof INGRESS_CHAIN;

/**
 * Drops what unknown pods send or are sent. An address of the node itself, as a bridge has one in the pod network, is
 * no pod's: what it sends to itself comes in by loopback, and what pods send to it is not forwarded. Packets of the
 * node to its pods pass none of these chains: they stay open (N43).
 */
export function unknownRules(
  family: Family,
  networks: readonly Cidr[],
  place: AskedIn,
  field: AddressField,
): NftRule[] {
  const also: Record<AskedIn, Expr[]> = {
    forward: [],
    input: notFromLoopback(),
    [INGRESS_CHAIN]: isForwarded(),
  };
  return networks
    .filter(cidr => cidr.family === family)
    .map(cidr => ({
      exprs: [...addressInNetwork(cidr, field), ...also[place], deny()],
      comment: COMMENTS[field],
    }));
}

const COMMENTS: Record<AddressField, string> = {
  saddr: 'from an address of the pod network that no known pod has',
  daddr: 'to an address of the pod network that no known pod has',
};

/** What becomes of unknown pods by the rules that are programmed. */
export function unknownPodsIn({ tables }: Ruleset): UnknownPods {
  const denies = [...tables.values()].some(({ chains }) =>
    chains.get('forward')?.rules.some(({ comment }) => comment === COMMENTS.saddr),
  );
  return denies ? 'deny' : 'allow';
}

/** The same without what denies unknown pods; everything about pods that are known stays. */
export function allowingUnknownPods(ruleset: Ruleset): Ruleset {
  const denies = ({ comment }: NftRule) => comment === COMMENTS.saddr || comment === COMMENTS.daddr;
  return mapChains(ruleset, chain =>
    chain.rules.some(denies) ? { ...chain, rules: chain.rules.filter(rule => !denies(rule)) } : chain,
  );
}
