/**
 * An address of a node's pod network that no known pod has: an unknown pod's (N67), or the node's own, as its bridge has
 * one. The agent of the node knows; whoever asks of manifests, or another agent, has no verdict that holds for both.
 */
import { type Address, addressToInt, type Cidr, cidrContains } from '../../model/address.ts';
import { addressOwners } from '../../model/addressowners.ts';
import { addressesOfNode, type Cluster, type Node, type Pod } from '../../model/cluster.ts';
import { hasDomainPeers } from '../../model/domainpeers.ts';
import type { Flow } from '../../model/flow.ts';
import { podCidrsOf, type UnknownPods } from '../../model/podcidrs.ts';
import type { DnsSnapshot } from '../../names/dnscache.ts';
import { evaluator } from '../../semantics/evaluate.ts';
import type { Case } from './judge.ts';
import { type Place, podOf } from './place.ts';

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

// What DNS told the pods of other nodes: the agent that answers does not know it, so a denial that it would lift is none yet.

/** `only the agent of n2 knows what shop/api was told`; absent of pods whose agent answers, and where nobody says which it is. */
export function resolvedElsewhere(source: Place, known: DnsSnapshot | undefined): string | undefined {
  const pod = podOf(source);
  if (known?.node === undefined || !pod?.node || pod.node === known.node) return undefined;
  return onlyAgentOf(pod);
}

/** Of each denial that an answer of DNS may have lifted without this agent's knowledge: why. */
export function undecidedDenials(
  cluster: Cluster,
  cases: readonly Case[],
  known: DnsSnapshot | undefined,
  unknownPods: UnknownPods,
): ReadonlyMap<Case, string> {
  const found = new Map<Case, string>();
  // Of a name the verdict is what holds once it was told.
  const denied = cases.filter(
    ({ to, verdict }) => to.place.domain === undefined && verdict.verdict === 'deny',
  );
  const elsewhere = denied.filter(({ from }) => resolvedElsewhere(from, known) !== undefined);
  if (elsewhere.length === 0 || !hasNames(cluster)) return found;
  const evaluate = evaluatorWithAllResolved(cluster, unknownPods);
  for (const each of elsewhere)
    if (evaluate(each.flow).verdict === 'allow') found.set(each, resolvedElsewhere(each.from, known)!);
  return found;
}

/** The same of one connection, by whoever has only the word of `node`. */
export function undecidedDenial(
  cluster: Cluster,
  flow: Flow,
  node: string,
  unknownPods: UnknownPods,
): string | undefined {
  const pod = addressOwners(cluster).get(flow.from);
  if (!pod?.node || pod.node === node || !hasNames(cluster)) return undefined;
  if (evaluator(cluster, unknownPods)(flow).verdict === 'allow') return undefined;
  return evaluatorWithAllResolved(cluster, unknownPods)(flow).verdict === 'allow'
    ? onlyAgentOf(pod)
    : undefined;
}

function onlyAgentOf({ node, key }: Pod): string {
  return `only the agent of ${node} knows what ${key} was told`;
}

function hasNames({ policies }: Cluster): boolean {
  return [...policies.values()].some(hasDomainPeers);
}

function evaluatorWithAllResolved(cluster: Cluster, unknownPods: UnknownPods) {
  return evaluator({ ...cluster, resolved: { has: () => true } }, unknownPods);
}
