/** Where a connection is judged: each direction is enforced on the node of its pod, and nowhere else. */

import { type Address, cidrContains, parseAddress } from '../../model/address.ts';
import { addressOwners } from '../../model/addressowners.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { Flow } from '../../model/flow.ts';
import { podCidrsOf, type UnknownPods } from '../../model/podcidrs.ts';
import type { Direction } from '../../model/policy.ts';
import type { FlowVerdict } from '../../semantics/evaluate.ts';
import { endName } from '../../semantics/flowtext.ts';
import { unknownPodFinders, unknownPodNodeFinder } from '../../semantics/unknownpods.ts';
import { nodeFinder } from '../../semantics/view.ts';
import type { Hook } from './kernelwalk.ts';

/** A node whose rules judge a direction, and the verdict that policy demands of them. */
export interface EnforcementPoint {
  readonly node: string;
  readonly direction: Direction;
  readonly verdict: 'allow' | 'deny';
}

/**
 * Two if source and destination are pods. None for an end that is no pod, unless its node denies connections to itself.
 */
export function enforcementPoints(
  cluster: Cluster,
  { from, to }: Flow,
  verdict: FlowVerdict,
  unknownPods: UnknownPods = 'allow',
): EnforcementPoint[] {
  const owners = addressOwners(cluster);
  const nodeWith = nodeFinder(cluster, owners);
  const { nodeDenyingUnknownPod, nodeOfUnknownPod } = unknownPodFinders(cluster, owners, unknownPods);
  const pointAt = (address: Address, direction: Direction): EnforcementPoint[] => {
    const word = verdict[direction].verdict;
    // The rules of the node deny an unknown pod, whatever other rules say about its address.
    const unknown = word === 'deny' ? nodeOfUnknownPod(address) : nodeDenyingUnknownPod(address);
    // A node that denies connections to itself is an enforcement point, too (N72).
    const itself = word === 'deny' && direction === 'ingress' ? nodeWith(address) : undefined;
    const node = owners.get(address)?.node ?? (itself ?? unknown)?.name ?? '';
    return node === '' ? [] : [{ node, direction, verdict: word }];
  };
  return [...pointAt(from, 'egress'), ...pointAt(to, 'ingress')];
}

/** Whether packets from an address come by a link of this node's pods, also if the pod is not known. */
export function podLinkFinder(cluster: Cluster, node: string): (address: Address) => boolean {
  const owners = addressOwners(cluster);
  const nodeOfUnknownPod = unknownPodNodeFinder(cluster, owners);
  return address => {
    const owner = owners.get(address);
    return owner === undefined
      ? nodeOfUnknownPod(address)?.name === node
      : owner.node === node && !owner.hostNetwork;
  };
}

/** The verdict that policy demands of a node's kernel at a hook. */
export function demanded(points: readonly EnforcementPoint[], node: string, hook: Hook): 'accept' | 'drop' {
  const denied = hook !== 'output' && points.some(point => point.node === node && point.verdict === 'deny');
  return denied ? 'drop' : 'accept';
}

/**
 * The outcome of the connection, as far as the kernel of one node can show it when it does `actual`:
 *
 *     accept, drop      the kernel's verdict, right or wrong
 *     denied-elsewhere  this node rightly lets it pass; the node of the other pod denies it
 *     not-judged-here   neither source nor destination is a pod of this node: its accept means nothing
 */
export type Outcome = 'accept' | 'drop' | 'denied-elsewhere' | 'not-judged-here';

export function outcomeOf(
  points: readonly EnforcementPoint[],
  node: string,
  hook: Hook,
  actual: 'accept' | 'drop',
): Outcome {
  if (actual === 'drop' || demanded(points, node, hook) === 'drop') return actual;
  const others = points.filter(point => point.node !== node);
  if (others.length === 0) return 'accept';
  if (others.length === points.length) return 'not-judged-here';
  return others.some(({ verdict }) => verdict === 'deny') ? 'denied-elsewhere' : 'accept';
}

// A note for questions about an address: NAT may lead it to a pod, and Services and host ports are not known here.

/** `asked` is how the destination was written; undefined where it names a pod, or the address can only be a pod's. */
export function natNote(cluster: Cluster, asked: string, { to, port }: Flow): string | undefined {
  if (port === undefined || parseAddress(endName(asked)) === undefined) return undefined;
  if (addressOwners(cluster).has(to)) return undefined;
  const nodes = [...cluster.nodes.values()];
  const isNode = nodes.some(({ addresses }) => addresses.includes(to));
  const isInPodNetwork = nodes.flatMap(podCidrsOf).some(cidr => cidrContains(cidr, to));
  if (isInPodNetwork && !isNode) return undefined;
  return `NAT is not followed: where a Service or a host port leads from ${to} port ${port} to a pod, ask for that pod`;
}
