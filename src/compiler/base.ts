/**
 * The part of our tables that does not depend on policies: the hooks, and the maps from a pod's address to its chains.
 */
import type { Cidr, Family } from '../model/address.ts';
import type { Direction } from '../model/policy.ts';
import { addressType, addressVmap, verdict } from '../nft/match.ts';
import type { BaseHook, Chain, Elements, NftRule, NftSet, SetSpec } from '../nft/ruleset.ts';
import { exempt } from './beforepolicy.ts';
import { type DenialLimits, deniedChains } from './denied.ts';
import { layoutChain } from './layout.ts';
import { podLinkMatches } from './linkmatches.ts';
import { guardChain, guardOfNode, guardSet, jumpToGuard, NODE_CHAIN } from './midstreamguard.ts';
import { type AnswersOfBase, namesOfForward, namesOfOutput } from './namespeers.ts';
import { gotoOwnErrors, ownErrors } from './ownerrors.ts';
import { errorChains } from './poderrors.ts';
import {
  fromPods,
  gotoNeighbours,
  type NodeNetwork,
  neighboursChain,
  nodeNetworkOf,
  sourceRules,
} from './podlinks.ts';
import { INGRESS_CHAIN } from './program.ts';
import { tunnelsFromAnySource } from './tunnels.ts';
import { unknownRules } from './unknownpods.ts';

export const POD_MAPS: Record<Direction, string> = { egress: 'egress-pods', ingress: 'ingress-pods' };

/** The verdict map of a direction: a local pod's address leads to its class. */
export function podMap(direction: Direction, family: Family): SetSpec {
  return { name: POD_MAPS[direction], key: [addressType(family)], verdicts: true, interval: false };
}

/**
 * The map of a direction and its guard set. The map has every local pod that a policy selects, and, where unknown pods
 * are denied, all known ones (unknownpods.ts).
 */
export function podSets(direction: Direction, family: Family, elements: Elements): NftSet[] {
  const map: NftSet = { ...podMap(direction, family), elements };
  return [map, guardSet(direction, map)];
}

/** Options that change base chains on some nodes only. */
export interface BaseExtras {
  /** Set where a policy of the cluster has rules by name. */
  readonly answers?: AnswersOfBase | undefined;
  /** Set on a node that reports denied packets. */
  readonly limits?: DenialLimits | undefined;
}

/** `denied` are the node's pod networks in which unknown pods are denied. */
export function baseChains(
  family: Family,
  denied: readonly Cidr[] = [],
  network: NodeNetwork = nodeNetworkOf(undefined),
  { answers, limits }: BaseExtras = {},
): Chain[] {
  const forward = [...jumpToGuard(family), ...forwardRules(family, denied)];
  const input = inputRules(family, denied);
  return [
    forwardChain(family, network, answers, forward),
    {
      name: 'input',
      hook: hook('input'),
      rules: [
        ...always(family),
        ...sourceRules(family, network, 'input'),
        ...exempt('related', family),
        ...tunnelsFromAnySource(family, 'here', network.links),
        ...input,
      ],
    },
    fromPods(family, network, 'forward', forward),
    fromPods(family, network, 'input', input),
    ...errorChains(family),
    ...(family === 'ip6' ? [neighboursChain(network)] : []),
    outputChain(family, answers),
    ownErrors(family, network),
    guardChain(family),
    layoutChain(),
    ...deniedChains(family, limits, podLinkMatches(network.links)),
    ingressChain(family, denied),
  ];
}

function forwardChain(
  family: Family,
  network: NodeNetwork,
  answers: AnswersOfBase | undefined,
  judged: readonly NftRule[],
): Chain {
  const rules = [
    ...(answers === undefined ? [] : namesOfForward(answers)),
    ...always(family),
    ...sourceRules(family, network, 'forward'),
    ...exempt('related', family),
    ...tunnelsFromAnySource(family, 'through', network.links),
    ...judged,
  ];
  return { name: 'forward', hook: hook('forward'), rules };
}

function outputChain(family: Family, answers: AnswersOfBase | undefined): Chain {
  const rules = [
    ...(answers === undefined ? [] : namesOfOutput(answers)),
    ...exempt('established', family),
    ...guardOfNode(family),
    gotoOwnErrors(family),
  ];
  return { name: NODE_CHAIN, hook: hook('output'), rules };
}

/** Where every egress chain that allows a packet goes on: the ingress policies of the destination judge it next. */
function ingressChain(family: Family, denied: readonly Cidr[]): Chain {
  const unknown = unknownRules(family, denied, INGRESS_CHAIN, 'daddr');
  return { name: INGRESS_CHAIN, rules: [toIngress(family), ...unknown, { exprs: [verdict('accept')] }] };
}

/** The rules of the forward hook that look up both ends in the pod maps. */
function forwardRules(family: Family, denied: readonly Cidr[]): NftRule[] {
  return [
    toEgress(family),
    ...unknownRules(family, denied, 'forward', 'saddr'),
    toIngress(family),
    ...unknownRules(family, denied, 'forward', 'daddr'),
  ];
}

/**
 * Packets of a pod to its own node (C32, 4.2). Packets of the node to its pods never reach this hook: they are always
 * allowed.
 */
function inputRules(family: Family, denied: readonly Cidr[]): NftRule[] {
  return [toEgress(family), ...unknownRules(family, denied, 'input', 'saddr')];
}

function toEgress(family: Family): NftRule {
  return { exprs: addressVmap(family, 'saddr', POD_MAPS.egress) };
}

function toIngress(family: Family): NftRule {
  return { exprs: addressVmap(family, 'daddr', POD_MAPS.ingress) };
}

/**
 * Packets of pods are judged before kube-proxy (-110) and firewalls (0) can reject them: the error of a reject quotes
 * the packet, and goes to the packet's source address, which may be forged. The priority is behind every DNAT.
 */
const BEFORE_REJECTS = -150;

function hook(name: BaseHook['hook']): BaseHook {
  return { hook: name, priority: name === 'output' ? 0 : BEFORE_REJECTS, policy: 'accept' };
}

/**
 * Packets that are accepted without a check of the sender. Errors (N39) come behind that check, because each has a
 * source address of its own.
 */
function always(family: Family): NftRule[] {
  return [...exempt('established', family), ...(family === 'ip6' ? [gotoNeighbours()] : [])];
}

/** The base chains of both families. */
export function basesOf(
  denied: readonly Cidr[],
  network: NodeNetwork,
  extras: BaseExtras,
): Record<Family, readonly Chain[]> {
  const base = (family: Family) => baseChains(family, denied, network, extras);
  return { ip: base('ip'), ip6: base('ip6') };
}
