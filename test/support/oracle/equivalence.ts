/** Holds the verdict of `evaluate` against a walk of the packet through what `compile` made for each node. */

import { compile } from '../../../src/compiler/compile.ts';
import { type Address, cidrContains, familyOf, parseCidr } from '../../../src/model/address.ts';
import { addressOwners } from '../../../src/model/addressowners.ts';
import type { Cluster, Node, Pod } from '../../../src/model/cluster.ts';
import type { Flow } from '../../../src/model/flow.ts';
import type { UnknownPods } from '../../../src/model/podcidrs.ts';
import { tunnelNodes } from '../../../src/model/tunneladdresses.ts';
import { isTunnel } from '../../../src/model/tunnels.ts';
import type { Ruleset } from '../../../src/nft/ruleset.ts';
import { packet } from '../../../src/nft/trace/packet.ts';
import { trace } from '../../../src/nft/trace/trace.ts';
import { evaluator, type FlowVerdict } from '../../../src/semantics/evaluate.ts';
import { tunnelFinders } from '../../../src/semantics/tunnelends.ts';
import type { Situation } from '../arbitrary/cluster.ts';
import { DNS_QUEUE, withResolvedElements } from './resolved.ts';

export interface Tally {
  packets: number;
  decidedByPolicy: number;
  denied: number;
  /** Denied because no known pod has the address. */
  unknown: number;
  /** Decided by a rule that matched by a name alone. */
  byName: number;
  tiers: Record<string, number>;
}

/** One hook that the packet of a flow passes, and which directions are enforced there. */
interface Station {
  readonly node: string;
  readonly hook: 'forward' | 'input';
  readonly egress: boolean;
  readonly ingress: boolean;
}

export function checkSituation({ cluster, unknownPods, flows }: Situation, tally: Tally): void {
  const evaluate = evaluator(cluster, unknownPods);
  const { resolved: _, ...silent } = cluster;
  const unresolved = evaluator(silent, unknownPods);
  const names = [...cluster.nodes.keys()];
  const onNode = new Map(names.map(node => [node, evaluator(cluster, unknownPods, node)]));
  const rulesets = compileAll(cluster, unknownPods);
  for (const flow of flows) {
    count(evaluate(flow), tally);
    if (evaluate(flow).egress.reason !== unresolved(flow).egress.reason) tally.byName++;
    const wrong = wrongStation(cluster, rulesets, flow, node => onNode.get(node)!(flow));
    if (wrong !== undefined) throw new Error(`${JSON.stringify(flow)}: ${wrong}`);
  }
}

/** The compiled rules of each node. */
export function compileAll(cluster: Cluster, unknownPods: UnknownPods): Map<string, Ruleset> {
  return new Map(
    [...cluster.nodes.keys()].map(node => {
      const ruleset = compile(cluster, node, unknownPods, 'others', DNS_QUEUE);
      return [node, withResolvedElements(ruleset, cluster, node, unknownPods)];
    }),
  );
}

/** Says at which hook the kernel would do otherwise than what is expected as a node sees it, or undefined. */
export function wrongStation(
  cluster: Cluster,
  rulesets: ReadonlyMap<string, Ruleset>,
  flow: Flow,
  expectedOn: (node: string) => FlowVerdict,
): string | undefined {
  for (const station of [...cluster.nodes.keys()].flatMap(node => stationsOn(node, cluster, flow))) {
    const { node, hook, egress, ingress } = station;
    const expected = expectedOn(node);
    const around = egress ? { iifkind: 'veth' } : {};
    const traced = trace(rulesets.get(node)!, familyOf(flow.from), hook, packet(flow), 'new', around);
    const denied =
      (egress && expected.egress.verdict === 'deny') ||
      (ingress && expected.ingress.verdict === 'deny') ||
      (hook === 'forward' && isForTunnel(cluster.nodes.get(node)!, cluster, flow));
    if ((traced.verdict === 'drop') !== denied)
      return `${node} ${hook} would ${traced.verdict}: ${JSON.stringify(traced.hits)}\nexpected ${JSON.stringify(expected, null, 1)}`;
  }
  return undefined;
}

/** N72: packets through a node from a pod network to an address of a node, whatever address was dialled first. */
function isForTunnel({ links }: Node, cluster: Cluster, flow: Flow): boolean {
  if (links?.podTunnels === 'allow' || !isTunnel(flow, links)) return false;
  const { isInPodNetworks, endAt } = tunnelFinders(cluster);
  return isInPodNetworks(flow.from) && endAt(flow.to) !== undefined;
}

/** The hooks of a node that a packet passes on its way from its source to its destination, as the node sees it. */
function stationsOn(node: string, cluster: Cluster, { from, to, viaService }: Flow): Station[] {
  if (from === to && !viaService) return []; // the packet never leaves its pod
  const owners = addressOwners(cluster, node);
  const destination = placeOf(cluster, owners, to);
  const source = placeOf(cluster, owners, from, destination?.node);
  const stations: Station[] = [];
  const local = source?.node === destination?.node;
  if (source?.isPod) {
    const hook = local && !destination?.isPod ? 'input' : 'forward';
    stations.push({ node: source.node, hook, egress: true, ingress: local });
  }
  if (destination !== undefined && !local) {
    const hook = destination.isPod ? 'forward' : 'input';
    stations.push({ node: destination.node, hook, egress: false, ingress: true });
  }
  return stations.filter(station => station.node === node);
}

/**
 * Where packets from and to an address are routed, whatever Nodes claim: to the pod that has it, else to the node in whose
 * pod network it is, which may have it itself, else to the node that has it. A pod network holds addresses of pods that
 * are not known. Nobody can tell whose an address is that several Nodes list outside of the pod networks, or a Node and a
 * pod outside of its node's: then it is that of `preferred`, if this lists it.
 */
function placeOf(
  { nodes }: Cluster,
  owners: ReadonlyMap<Address, Pod>,
  address: Address,
  preferred?: string,
) {
  const isIn = (node: Node | undefined) =>
    node?.podCidrs.some(cidr => cidrContains(parseCidr(cidr)!, address)) === true;
  const owner = owners.get(address);
  const isClaimed =
    owner?.node !== preferred && nodes.get(preferred ?? '')?.addresses.includes(address) === true;
  if (owner !== undefined && isClaimed && !isIn(nodes.get(owner.node)))
    return { node: preferred!, isPod: false };
  if (owner !== undefined) return { node: owner.node, isPod: true };
  const all = [...nodes.values()];
  const near = all.find(isIn);
  if (near === undefined) {
    const own = nodeWithout(all, address, preferred);
    return own && { node: own.name, isPod: false };
  }
  const isOwn = near.addresses.includes(address) || tunnelNodes(all).get(address) === near;
  return { node: near.name, isPod: !isOwn };
}

/** The node of an address outside all pod networks. What Nodes claim of others is behind their own addresses. */
function nodeWithout(nodes: readonly Node[], address: Address, preferred?: string): Node | undefined {
  const listing = nodes.filter(({ addresses }) => addresses.includes(address));
  const place = ({ addresses }: Node) => addresses.indexOf(address);
  return (
    listing.find(({ name }) => name === preferred) ??
    listing.toSorted((a, b) => place(a) - place(b))[0] ??
    tunnelNodes(nodes).get(address)
  );
}

function count({ verdict, egress, ingress }: FlowVerdict, tally: Tally): void {
  tally.packets++;
  if (verdict === 'deny') tally.denied++;
  if ([egress, ingress].some(({ verdict, tier }) => verdict === 'deny' && tier === 'default'))
    tally.unknown++;
  if (egress.policy !== undefined || ingress.policy !== undefined) tally.decidedByPolicy++;
  for (const { tier } of [egress, ingress]) tally.tiers[tier] = (tally.tiers[tier] ?? 0) + 1;
}
