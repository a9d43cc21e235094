/** Why a connection has no verdict: what only agents know, or how they were started. */
import { type Address, addressToInt, type Cidr, cidrContains } from '../../model/address.ts';
import { addressOwners, takenAddresses } from '../../model/addressowners.ts';
import type { Cluster, Node, NodeLinks, Pod } from '../../model/cluster.ts';
import { hasDomainPeers } from '../../model/domainpeers.ts';
import { podCidrsOf, type UnknownPods } from '../../model/podcidrs.ts';
import { isTunnel, TUNNEL_PORTS, TUNNEL_PROTOCOLS, withPodTunnels } from '../../model/tunnels.ts';
import type { DnsSnapshot } from '../../names/dnscache.ts';
import { evaluator, type FlowVerdict } from '../../semantics/evaluate.ts';
import { unseenTunnelNodes } from '../../semantics/tunnelends.ts';
import { flowSeenBy, isSeenOtherwise, type JudgedFlow, judgeSeen } from './judge.ts';
import { type ClusterView, type Guesses, podOf, type ResolvedEndpoint } from './place.ts';

type Judged = Pick<
  JudgedFlow,
  'flow' | 'verdict' | 'unresolved' | 'dialled' | 'viaNode' | 'fromRange' | 'toRange'
>;

/** What is known beside the cluster. */
type Known = Pick<ClusterView, 'unknownPods' | 'guesses' | 'known'>;

export interface Doubts<T> {
  /** Why a case is undecided. */
  readonly undecided: ReadonlyMap<T, string>;
  /** Notes about other cases, whose verdict stays. */
  readonly notes: readonly string[];
}

/** Every command asks this, so that all of them call the same connections undecided. */
export function doubtsOf<T extends Judged>(
  cluster: Cluster,
  cases: readonly T[],
  { unknownPods, guesses, known }: Known,
): Doubts<T> {
  const { undecided, notes } = undecidedByNode(cluster, cases, unknownPods);
  return {
    undecided: new Map([
      ...(guesses ? undecidedByGuesses(cluster, cases, unknownPods, guesses) : []),
      ...undecidedDenials(cluster, cases, known, unknownPods),
      ...undecided,
      ...undecidedByTunnel(cluster, cases, unknownPods),
    ]),
    notes,
  };
}

/** A limit, because each case makes a view of the cluster. */
const MOST_CASES = 16;

/**
 * An address of a node's pod network that no known pod has: an unknown pod's (N67), or the node's own, as its bridge has
 * one. Only the agent of that node knows; manifests and other agents cannot give one verdict for both. Undecided is the
 * first address of a pod network, which by custom is the node's own; others have a note.
 */
export function undecidedByNode<T extends Judged>(
  cluster: Cluster,
  cases: readonly T[],
  unknownPods: UnknownPods,
): Doubts<T> {
  const undecided = new Map<T, string>();
  const notes = new Set<string>();
  const owners = addressOwners(cluster);
  const known = takenAddresses(cluster, owners);
  for (const each of cases.slice(0, MOST_CASES)) {
    if (isSeenOtherwise(each)) continue;
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

/** The ends that are addresses themselves, and do not only represent a range: only these can be a node's. */
function ownEnds({ flow, fromRange, toRange }: Judged): readonly Address[] {
  return [...(fromRange === undefined ? [flow.from] : []), ...(toRange === undefined ? [flow.to] : [])];
}

/** The pod network with this address, if the interfaces of its node are not known. */
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

/**
 * Allowed cases that the rules deny if the sender's node has a tunnel of its own on that port (N72). Its annotations say
 * that it has a tunnel, and only its agent sees of which kind.
 */
function undecidedByTunnel<T extends Judged>(
  cluster: Cluster,
  cases: readonly T[],
  unknownPods: UnknownPods,
): ReadonlyMap<T, string> {
  const undecided = new Map<T, string>();
  const allowed = cases.filter(
    each => each.verdict.verdict === 'allow' && isTunnel(flowSeenBy('egress', each)),
  );
  const unseen = new Set(allowed.length === 0 ? [] : unseenTunnelNodes(cluster));
  if (unseen.size === 0) return undecided;
  const nodes = new Map<string, Node>();
  for (const [name, node] of cluster.nodes)
    nodes.set(name, { ...node, links: unseen.has(node) ? ANY_TUNNEL : NO_TUNNEL });
  const evaluate = evaluator({ ...cluster, nodes }, unknownPods);
  for (const each of allowed) {
    const { verdict, reason } = judgeSeen(evaluate, each).egress;
    if (verdict === 'allow') continue;
    const [what] = reason.split(': ');
    const then = 'it denies what its pods send there, out of the pod networks';
    undecided.set(each, `if ${what}, ${then}; only its agent knows`);
  }
  return undecided;
}

const NO_TUNNEL: NodeLinks = { uplinks: [], podBridges: [] };
const ANY_TUNNEL: NodeLinks = {
  ...NO_TUNNEL,
  tunnels: { ports: TUNNEL_PORTS, protocols: TUNNEL_PROTOCOLS },
};

/**
 * Cases that agents decide as they were started, where nobody said how: with unknown pods (N67), and with tunnels of pods
 * (N72). The strictest agents deny them, and those that deny least do not.
 */
function undecidedByGuesses<T extends Judged>(
  cluster: Cluster,
  cases: readonly T[],
  unknownPods: UnknownPods,
  guesses: Guesses,
): ReadonlyMap<T, string> {
  const undecided = new Map<T, string>();
  const least = guesses.unknownPods ? 'allow' : unknownPods;
  const strict = evaluator(cluster, guesses.unknownPods ? 'deny' : unknownPods);
  const denied = cases.filter(each => judgeSeen(strict, each).verdict === 'deny');
  if (denied.length === 0) return undecided;
  const open = evaluator(cluster, least);
  const openest = guesses.podTunnels ? evaluator(withPodTunnels(cluster), least) : open;
  for (const each of denied) {
    if (judgeSeen(openest, each).verdict === 'deny') continue;
    const found = judgeSeen(open, each);
    const text =
      found.verdict === 'deny'
        ? unsaidText(found, guesses)
        : `${unsaidText(judgeSeen(strict, each), guesses)}; --unknown-pods=deny or allow says which`;
    undecided.set(each, text);
  }
  return undecided;
}

function unsaidText({ egress, ingress }: FlowVerdict, { why }: Guesses): string {
  const { reason } = egress.verdict === 'deny' ? egress : ingress;
  const [what] = reason.split(': ');
  return `${what}: agents deny or allow its packets, as they were started, and ${why}`;
}

// Answers of DNS to pods of other nodes are not known to this agent, so a denial that they would lift is undecided.

/**
 * `only the agent of n2 knows which DNS answers shop/api received`; undefined for pods of this agent, and if the node
 * is not known.
 */
export function resolvedElsewhere(
  source: ResolvedEndpoint,
  known: DnsSnapshot | undefined,
): string | undefined {
  return heardElsewhere(podOf(source), known);
}

type Hearers = Pick<DnsSnapshot, 'node' | 'nodes'>;

function heardElsewhere(pod: Pod | undefined, known: Hearers | undefined): string | undefined {
  const covered = known?.nodes ?? (known?.node === undefined ? undefined : [known.node]);
  if (covered === undefined || !pod?.node || covered.includes(pod.node)) return undefined;
  return `only the agent of ${pod.node} knows which DNS answers ${pod.key} received`;
}

/** Denials that an answer of DNS may have lifted without the knowledge of these agents, with the reason. */
export function undecidedDenials<T extends Judged>(
  cluster: Cluster,
  cases: readonly T[],
  known: Hearers | undefined,
  unknownPods: UnknownPods,
): ReadonlyMap<T, string> {
  const found = new Map<T, string>();
  if (known === undefined || !hasNames(cluster)) return found;
  const owners = addressOwners(cluster);
  const evaluate = evaluatorWithAllResolved(cluster, unknownPods);
  for (const each of cases) {
    // The verdict for a name already is the one after its answer.
    if (each.unresolved !== undefined || each.verdict.verdict === 'allow') continue;
    const text = heardElsewhere(owners.get(each.flow.from), known);
    if (text !== undefined && judgeSeen(evaluate, each).verdict === 'allow') found.set(each, text);
  }
  return found;
}

function hasNames({ policies }: Cluster): boolean {
  return [...policies.values()].some(hasDomainPeers);
}

function evaluatorWithAllResolved(cluster: Cluster, unknownPods: UnknownPods) {
  return evaluator({ ...cluster, resolved: { has: () => true } }, unknownPods);
}
