/**
 * Unknown pods: addresses of a node's pod networks that no known pod has. A pod that has just started is unknown until
 * the agent has heard of it. Where unknown pods are denied, it can neither send nor receive before its rules are in
 * force, whether or not an agent runs.
 *
 * The deny rule comes behind the pod maps, which then contain every local pod: a pod with a class leads to its chain,
 * any other pod to what allows it. So it costs one compare if no map has the address, and nothing otherwise.
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
import { FROM_UNKNOWN_PORT } from './podports.ts';
import { INGRESS_CHAIN } from './program.ts';

/** The node's pod networks in which unknown pods are denied. */
export function deniedNetworks({ nodes }: Cluster, node: string, unknownPods: UnknownPods): readonly Cidr[] {
  return unknownPods === 'deny' ? podCidrsOf(nodes.get(node)) : [];
}

/** The verdict in a pod map for a known pod that no policy affects in the direction. */
export const OPEN_VERDICT: Record<Direction, NftVerdict> = {
  egress: { kind: 'goto', chain: INGRESS_CHAIN },
  ingress: { kind: 'accept' },
};

/** The chain of the class to which an element of a pod map leads; undefined for a pod that no policy affects. */
export function classChain({ verdict }: ElementValue): string | undefined {
  return verdict !== undefined && 'chain' in verdict && verdict.chain !== INGRESS_CHAIN
    ? verdict.chain
    : undefined;
}

export type LookupPlace = 'forward' | 'input' | typeof INGRESS_CHAIN;

/**
 * Drops packets from and to unknown pods. An address of the node itself in the pod network, such as a bridge's, belongs
 * to no pod: its packets to itself arrive by loopback, and packets of pods to it are not forwarded. Packets of the node
 * to its pods pass none of these chains: they are always allowed (N43).
 */
export function unknownRules(
  family: Family,
  networks: readonly Cidr[],
  place: LookupPlace,
  field: AddressField,
): NftRule[] {
  const also: Record<LookupPlace, Expr[]> = {
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

/** Whether programmed rules deny or allow unknown pods. */
export function unknownPodsIn({ tables }: Ruleset): UnknownPods {
  const denies = [...tables.values()].some(({ chains }) =>
    chains.get('forward')?.rules.some(({ comment }) => comment === COMMENTS.saddr),
  );
  return denies ? 'deny' : 'allow';
}

/** The given rules without those that deny unknown pods; rules of known pods stay. */
export function allowingUnknownPods(ruleset: Ruleset): Ruleset {
  const comments: readonly (string | undefined)[] = [COMMENTS.saddr, COMMENTS.daddr, FROM_UNKNOWN_PORT];
  const denies = ({ comment }: NftRule) => comments.includes(comment);
  return mapChains(ruleset, chain =>
    chain.rules.some(denies) ? { ...chain, rules: chain.rules.filter(rule => !denies(rule)) } : chain,
  );
}
