/**
 * An address of a node's pod network that no known pod has: an unknown pod's (N67), or the node's own, as its bridge has
 * one. The agent of the node knows; whoever asks of manifests, or another agent, has no verdict that holds for both.
 */
import { type Address, addressToInt, type Cidr, cidrContains } from '../../model/address.ts';
import { addressOwners } from '../../model/addressowners.ts';
import { addressesOfNode, type Cluster, type Node } from '../../model/cluster.ts';
import { podCidrsOf, type UnknownPods } from '../../model/podcidrs.ts';
import { evaluator } from '../../semantics/evaluate.ts';
import type { Case } from './judge.ts';

/** Each makes a view of the cluster. */
const MOST_CASES = 16;

type Judged = Pick<Case, 'flow' | 'verdict' | 'viaNode' | 'fromRange' | 'toRange'>;

export interface MaybeNode<T> {
  /** Of cases whose verdict nobody can say: why. By custom the first address of its pod network is the node's own. */
  readonly undecided: ReadonlyMap<T, string>;
  /** Of all others. */
  readonly notes: readonly string[];
}

export function maybeNode<T extends Judged>(
  cluster: Cluster,
  cases: readonly T[],
  unknownPods: UnknownPods,
): MaybeNode<T> {
  const undecided = new Map<T, string>();
  const notes = new Set<string>();
  const owners = addressOwners(cluster);
  const known = new Set([...owners.keys(), ...[...cluster.nodes.values()].flatMap(addressesOfNode)]);
  for (const each of cases.slice(0, MOST_CASES)) {
    if (each.viaNode !== undefined) continue;
    for (const address of ownEnds(each)) {
      const found = known.has(address) ? undefined : networkWith(cluster, address);
      const then = found && verdictAsNode(cluster, found.node, address, each, unknownPods);
      if (found === undefined || then === undefined) continue;
      const text = `${address} may be an address of node ${found.node.name} itself, as of its bridge: then policy would ${then} this; its own agent knows`;
      if (isFirst(found.cidr, address)) undecided.set(each, text);
      else notes.add(text);
    }
  }
  return { undecided, notes: [...notes] };
}

/** What stands for an address that nobody knows is no node's. */
function ownEnds({ flow, fromRange, toRange }: Judged): readonly Address[] {
  return [...(fromRange === undefined ? [flow.from] : []), ...(toRange === undefined ? [flow.to] : [])];
}

/** Of a node of whose interfaces nothing is known. */
function networkWith({ nodes }: Cluster, address: Address) {
  for (const node of nodes.values()) {
    const cidr = podCidrsOf(node).find(each => cidrContains(each, address));
    if (cidr !== undefined) return node.interfaceAddresses === undefined ? { node, cidr } : undefined;
  }
  return undefined;
}

/** The verdict if the node had the address; undefined where it is the same. */
function verdictAsNode(
  cluster: Cluster,
  node: Node,
  address: Address,
  { flow, verdict }: Judged,
  unknownPods: UnknownPods,
): 'allow' | 'deny' | undefined {
  const nodes = new Map(cluster.nodes).set(node.name, { ...node, interfaceAddresses: [address] });
  const then = evaluator({ ...cluster, nodes }, unknownPods)(flow).verdict;
  return then === verdict.verdict ? undefined : then;
}

function isFirst({ base }: Cidr, address: Address): boolean {
  return addressToInt(address) === addressToInt(base) + 1n;
}
