/**
 * An address of a node's pod network that no known pod has: an unknown pod's (N67), or the node's own, as its bridge has
 * one. Only the agent of that node knows; manifests and other agents cannot give one verdict for both.
 */
import { type Address, addressToInt, type Cidr, cidrContains } from '../../model/address.ts';
import { addressOwners, takenAddresses } from '../../model/addressowners.ts';
import type { Cluster, Node, Pod } from '../../model/cluster.ts';
import { hasDomainPeers } from '../../model/domainpeers.ts';
import type { Flow } from '../../model/flow.ts';
import { podCidrsOf, type UnknownPods } from '../../model/podcidrs.ts';
import { isTunnel, TUNNEL_PORTS, TUNNEL_PROTOCOLS } from '../../model/tunnels.ts';
import type { DnsSnapshot } from '../../names/dnscache.ts';
import { evaluator, type FlowVerdict } from '../../semantics/evaluate.ts';
import { unseenTunnelNodes } from '../../semantics/tunnelends.ts';
import { isSeenOtherwise, type JudgedFlow, judgeSeen } from './judge.ts';
import { podOf, type ResolvedEndpoint } from './place.ts';

/** A limit, because each case makes a view of the cluster. */
const MOST_CASES = 16;

type Judged = Pick<JudgedFlow, 'flow' | 'verdict' | 'dialled' | 'viaNode' | 'fromRange' | 'toRange'>;

export interface UndecidedByNode<T> {
  /** Why a case is undecided: the address is the first of a pod network, which by custom is the node's own. */
  readonly undecided: ReadonlyMap<T, string>;
  /** Notes about the other addresses, whose verdict stays. */
  readonly notes: readonly string[];
}

export function undecidedByNode<T extends Judged>(
  cluster: Cluster,
  cases: readonly T[],
  unknownPods: UnknownPods,
): UndecidedByNode<T> {
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
export function undecidedByTunnel(
  cluster: Cluster,
  cases: readonly JudgedFlow[],
  unknownPods: UnknownPods,
): ReadonlyMap<JudgedFlow, string> {
  const unseen = new Map(unseenTunnelNodes(cluster).map(node => [node.name, node]));
  return new Map(
    cases.slice(0, MOST_CASES).flatMap(each => {
      const node = unseen.get(podOf(each.from)?.node ?? '');
      if (node === undefined || !isTunnel(each.flow) || each.verdict.verdict === 'deny') return [];
      const links = {
        uplinks: [],
        podBridges: [],
        tunnels: { ports: TUNNEL_PORTS, protocols: TUNNEL_PROTOCOLS },
      };
      const nodes = new Map(cluster.nodes).set(node.name, { ...node, links });
      const { egress } = judgeSeen(evaluator({ ...cluster, nodes }, unknownPods), each);
      if (egress.verdict === 'allow') return [];
      return [[each, `${tunnelMayBe(node, each.flow)}; only its agent knows`]];
    }),
  );
}

function tunnelMayBe({ name }: Node, { protocol, port }: Flow): string {
  const what = port === undefined ? `protocol ${protocol}` : `${protocol} ${port}`;
  return `if node ${name} has a tunnel of its own on ${what}, it denies what its pods send there, out of the pod networks`;
}

/** Cases that agents decide as they were started: one end is an unknown pod (N67), and nobody said what they do. */
export function undecidedByUnknownPods(
  cluster: Cluster,
  cases: readonly JudgedFlow[],
  guessed: UnknownPods,
): ReadonlyMap<JudgedFlow, string> {
  const evaluate = evaluator(cluster, otherThan(guessed));
  return new Map(
    cases.flatMap(each => {
      const text = unlessSameOtherwise(each.verdict, judgeSeen(evaluate, each), guessed);
      return text === undefined ? [] : [[each, text] as const];
    }),
  );
}

/** The same of one connection. */
export function undecidedByGuess(
  cluster: Cluster,
  flow: Flow,
  found: FlowVerdict,
  guessed: UnknownPods,
): string | undefined {
  return unlessSameOtherwise(found, evaluator(cluster, otherThan(guessed))(flow), guessed);
}

function otherThan(guessed: UnknownPods): UnknownPods {
  return guessed === 'deny' ? 'allow' : 'deny';
}

function unlessSameOtherwise(
  found: FlowVerdict,
  other: FlowVerdict,
  guessed: UnknownPods,
): string | undefined {
  if (other.verdict === found.verdict) return undefined;
  return unsaidText(guessed === 'deny' ? found : other);
}

function unsaidText({ egress, ingress }: FlowVerdict): string {
  const { reason } = egress.verdict === 'deny' ? egress : ingress;
  const [what] = reason.split(': ');
  return (
    `${what}: agents deny or allow its packets, as they were started (by default they deny them where pods wait for ` +
    'their rules); --unknown-pods=deny or allow says which'
  );
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
  const pod = podOf(source);
  const covered = known?.nodes ?? (known?.node === undefined ? undefined : [known.node]);
  if (covered === undefined || !pod?.node || covered.includes(pod.node)) return undefined;
  return onlyAgentOf(pod);
}

/** Denials that an answer of DNS may have lifted without this agent's knowledge, with the reason. */
export function undecidedDenials(
  cluster: Cluster,
  cases: readonly JudgedFlow[],
  known: DnsSnapshot | undefined,
  unknownPods: UnknownPods,
): ReadonlyMap<JudgedFlow, string> {
  const found = new Map<JudgedFlow, string>();
  // The verdict for a name already is the one after its answer.
  const denied = cases.filter(
    ({ to, verdict }) => to.endpoint.domain === undefined && verdict.verdict === 'deny',
  );
  const elsewhere = denied.filter(({ from }) => resolvedElsewhere(from, known) !== undefined);
  if (elsewhere.length === 0 || !hasNames(cluster)) return found;
  const evaluate = evaluatorWithAllResolved(cluster, unknownPods);
  for (const each of elsewhere)
    if (judgeSeen(evaluate, each).verdict === 'allow') found.set(each, resolvedElsewhere(each.from, known)!);
  return found;
}

/** The doubt about the denial of one connection, if only the agent of `node` was asked. */
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
  return `only the agent of ${node} knows which DNS answers ${key} received`;
}

function hasNames({ policies }: Cluster): boolean {
  return [...policies.values()].some(hasDomainPeers);
}

function evaluatorWithAllResolved(cluster: Cluster, unknownPods: UnknownPods) {
  return evaluator({ ...cluster, resolved: { has: () => true } }, unknownPods);
}
