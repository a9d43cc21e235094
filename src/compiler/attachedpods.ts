/**
 * The chains that pods need beside policy if this agent connects them with their node. They are in the same tables, at
 * hooks of their own:
 *
 *     source          prerouting, raw  drops packets of a pod whose source address is not its own: the node's route to
 *                                      the source does not lead back to the link it came by; and redirects
 *                                      and router advertisements of pods
 *     host-ports      prerouting       redirects a port of the node to a pod; behind kube-proxy's rules, so that a port
 *     own-host-ports  output           of a Service takes precedence
 *     leaving         postrouting      masquerades packets that leave the pod networks, and those of a pod that reaches
 *                                      itself by a port of the node
 */
import type { Family } from '../model/address.ts';
import type { Cluster } from '../model/cluster.ts';
import { podCidrsOf } from '../model/podcidrs.ts';
import { LINK_GROUP, type PodLinks } from '../model/podlinks.ts';
import {
  addressIn,
  addressInNetwork,
  addressPairIn,
  addressTypeIs,
  icmpTypeIs,
  masquerade,
  redirectByPort,
  verdict,
} from '../nft/match.ts';
import { interfaceGroupIs, noRouteBack } from '../nft/matchinterface.ts';
import type { BaseHook, Chain, NftRule, NftSet, Ruleset } from '../nft/ruleset.ts';
import { LOOPBACK } from './beforepolicy.ts';
import { denyLink } from './denied.ts';
import { HAIRPINS, HOST_PORTS, hostPortSets } from './hostports.ts';
import { podNetworks } from './podnetworks.ts';

/** The part of a table that serves one purpose: its chains and sets. */
export interface TablePart {
  readonly chains: readonly Chain[];
  readonly sets: readonly NftSet[];
}

export function attachedPods(family: Family, cluster: Cluster, node: string): TablePart {
  const { chains, sets } = leavingPart(family, cluster, node);
  return {
    chains: [...attachChains(family), ...chains],
    sets: [...hostPortSets(family, cluster.hostPorts?.values() ?? []), ...sets],
  };
}

const SOURCE_CHAIN = 'source';

/** Whether this agent connects the pods of the node whose rules these are, or another network plugin. */
export function podLinksIn({ tables }: Ruleset): PodLinks {
  return [...tables.values()].some(({ chains }) => chains.has(SOURCE_CHAIN)) ? 'ours' : 'others';
}

/** The chains that are the same on every node. */
export function attachChains(family: Family): Chain[] {
  return [
    {
      name: SOURCE_CHAIN,
      hook: { hook: 'prerouting', priority: RAW, policy: 'accept' },
      rules: sourceRules(family),
    },
    natChain('host-ports', 'prerouting', BEHIND_DNAT, [toPod(family)]),
    natChain('own-host-ports', 'output', BEHIND_DNAT, [...fromLoopback(family), toPod(family)]),
  ];
}

// The priorities NF_IP_PRI_RAW, one behind NF_IP_PRI_NAT_DST, and NF_IP_PRI_NAT_SRC.
const RAW = -300;
const BEHIND_DNAT = -99;
const SOURCE_NAT = 100;

function natChain(name: string, hook: BaseHook['hook'], priority: number, rules: readonly NftRule[]): Chain {
  return { name, hook: { type: 'nat', hook, priority, policy: 'accept' }, rules };
}

const ROUTER_ADVERTISEMENT = 134;
const REDIRECT = 137;

function sourceRules(family: Family): NftRule[] {
  const fromPod = interfaceGroupIs('iifgroup', LINK_GROUP);
  const spoofed: NftRule = {
    exprs: [...fromPod, ...noRouteBack(), denyLink()],
    comment: 'not from an address of its own',
  };
  const misleading = (type: number, comment: string): NftRule => ({
    exprs: [...fromPod, ...icmpTypeIs(family, type), denyLink()],
    comment,
  });
  if (family === 'ip') return [spoofed];
  return [
    spoofed,
    misleading(ROUTER_ADVERTISEMENT, 'no router advertisements from pods'),
    misleading(REDIRECT, 'no redirects from pods'),
  ];
}

function toPod(family: Family): NftRule {
  return { exprs: [...addressTypeIs('daddr', 'local'), ...redirectByPort(family, HOST_PORTS)] };
}

function fromLoopback(family: Family): NftRule[] {
  if (family === 'ip6') return [];
  return [
    { exprs: [...addressInNetwork(LOOPBACK, 'daddr'), verdict('return')], comment: 'loopback stays here' },
  ];
}

/** The chains and sets that depend on the pod networks of the nodes. */
export function leavingPart(family: Family, { nodes }: Cluster, node: string): TablePart {
  const own = podCidrsOf(nodes.get(node)).filter(cidr => cidr.family === family);
  const networks = podNetworks(family, nodes.values());
  const rules: NftRule[] = [
    { exprs: [...addressPairIn(family, HAIRPINS), masquerade()], comment: 'a pod by its own host port' },
    {
      exprs: [...interfaceGroupIs('oifgroup', LINK_GROUP), verdict('return')],
      comment: 'a pod of this node',
    },
    ...(networks === undefined
      ? []
      : [
          {
            exprs: [...addressIn(family, 'daddr', networks.name), verdict('return')],
            comment: 'a pod of another node',
          },
        ]),
    ...own.map(cidr => ({
      exprs: [...addressInNetwork(cidr, 'saddr'), masquerade()],
      comment: 'a pod to the world outside',
    })),
  ];
  return {
    chains: [natChain('leaving', 'postrouting', SOURCE_NAT, rules)],
    sets: networks === undefined ? [] : [networks],
  };
}
