/** Every connection that a question may mean, each with its verdict. */
import { type Address, type AddressRange, type Cidr, type Family, familyOf } from '../../model/address.ts';
import { takenAddresses } from '../../model/addressowners.ts';
import { type Cluster, namespaceOf, type Pod, type PodKey, type Resolved } from '../../model/cluster.ts';
import { matchesDomainName } from '../../model/domainname.ts';
import type { Flow } from '../../model/flow.ts';
import type { Direction, Rule } from '../../model/policy.ts';
import { matchPod } from '../../model/selector.ts';
import { evaluatorOf, type FlowVerdict } from '../../semantics/evaluate.ts';
import { viewOf } from '../../semantics/view.ts';
import { type ClusterView, podOf, type ResolvedEndpoint, type Target } from './place.ts';
import { freeIn, pieces } from './ranges.ts';

/** One connection that the question may mean, with its verdict. */
export interface JudgedFlow {
  readonly from: ResolvedEndpoint;
  readonly to: Target;
  readonly flow: Flow;
  readonly verdict: FlowVerdict;
  /** For a destination by name: the verdict until a DNS answer has given its address. */
  readonly unresolved?: 'allow' | 'deny';
  /** Why the verdict is undecided. */
  readonly undecided?: string;
  readonly family: Family;
  /** The addresses that the one of the flow represents. */
  readonly fromRange?: AddressRange;
  readonly toRange?: AddressRange;
  /** Through the port of a node, which puts its own address in place of the source's. */
  readonly viaNode?: Address;
}

/** Every connection that a question may mean, judged. */
export interface JudgedQuestion {
  readonly cases: readonly JudgedFlow[];
  /** The cluster in which the flows were judged, with the pods that do not exist yet. */
  readonly cluster: Cluster;
  /** Whether there were too many cases to judge all. */
  readonly isCut: boolean;
}

const MOST_CASES = 20_000;

/** The text about a case, with the name of an end instead of an address that only represents it. */
export function withNames(text: string, { from, to, flow, fromRange, toRange }: JudgedFlow): string {
  let named = text;
  if (fromRange && podOf(from) === undefined) named = named.replaceAll(flow.from, from.name);
  if (toRange && podOf(to.endpoint) === undefined) named = named.replaceAll(flow.to, to.endpoint.name);
  return named;
}

/**
 * Judges each connection that the question means, in each address family that source and destination share, or in the
 * one asked for.
 */
export function judge(
  { cluster, unknownPods, index }: ClusterView,
  sources: readonly ResolvedEndpoint[],
  targets: readonly Target[],
  family: Family | undefined,
): JudgedQuestion {
  const taken = takenAddresses(cluster);
  const podsOf = (places: readonly ResolvedEndpoint[]) => places.flatMap(endpoint => podOf(endpoint) ?? []);
  const toPods = podsOf(targets.map(({ endpoint }) => endpoint));
  const from = sources.map(endpoint => assignAddresses(cluster, endpoint, toPods, 'ingress', taken));
  const assignedTo = new Map<ResolvedEndpoint, AssignedAddresses>();
  for (const { endpoint } of targets)
    assignedTo.set(endpoint, assignAddresses(cluster, endpoint, podsOf(sources), 'egress', taken));
  const assigned = [...from, ...assignedTo.values()];
  const unresolved = withPods(
    cluster,
    assigned.flatMap(({ pod }) => pod ?? []),
  );
  const names = namesIn(assignedTo.values());
  const inhabited =
    names.size === 0 ? unresolved : { ...unresolved, resolved: withResolved(unresolved, names) };
  const evaluatorIn = (each: Cluster) => evaluatorOf(viewOf(each, unknownPods, undefined, index));
  const evaluate = evaluatorIn(inhabited);
  const before = inhabited === unresolved ? evaluate : evaluatorIn(unresolved);
  const cases: JudgedFlow[] = [];
  const isAtLimit = () => cases.length >= MOST_CASES;
  for (const source of from)
    for (const to of targets)
      for (const pair of pairs(source.candidates, assignedTo.get(to.endpoint)!.candidates, family)) {
        if (isAtLimit()) break;
        cases.push(...casesOf(evaluate, source.endpoint, to, pair).map(each => withUnresolved(each, before)));
      }
  return { cases, cluster: inhabited, isCut: isAtLimit() || assigned.some(({ isCut }) => isCut) };
}

function namesIn(assigned: Iterable<AssignedAddresses>): ReadonlyMap<Address, string> {
  const names = [...assigned].flatMap(({ endpoint: { domain }, candidates }) =>
    domain === undefined ? [] : candidates.map(({ address }) => [address, domain] as const),
  );
  return new Map(names);
}

function withUnresolved(each: JudgedFlow, before: (flow: Flow) => FlowVerdict): JudgedFlow {
  return each.to.endpoint.domain === undefined ? each : { ...each, unresolved: before(each.flow).verdict };
}

/** Two pods that have the same key, as two of one Deployment, stay two pods. */
function withPods(cluster: Cluster, added: readonly Pod[]): Cluster {
  if (added.length === 0) return cluster;
  const pods = new Map(cluster.pods);
  for (const pod of added) {
    const isTwin = pods.get(pod.key)?.addresses.length;
    const key: PodKey = isTwin ? `${pod.key} (another)` : pod.key;
    pods.set(key, { ...pod, key });
  }
  return { ...cluster, pods };
}

interface Pair {
  readonly from: CandidateAddress;
  readonly to: CandidateAddress;
  readonly family: Family;
}

/** Pairs of each family. An endpoint with several own addresses is judged by its first. */
function* pairs(
  from: readonly CandidateAddress[],
  to: readonly CandidateAddress[],
  asked: Family | undefined,
): Generator<Pair> {
  for (const family of ['ip', 'ip6'] as const) {
    if (asked !== undefined && asked !== family) continue;
    for (const source of ofFamily(from, family))
      for (const target of ofFamily(to, family)) yield { from: source, to: target, family };
  }
}

function ofFamily(candidates: readonly CandidateAddress[], family: Family): readonly CandidateAddress[] {
  const found = candidates.filter(({ address }) => familyOf(address) === family);
  return found.some(({ range }) => range !== undefined) ? found : found.slice(0, 1);
}

function casesOf(
  evaluate: (flow: Flow) => FlowVerdict,
  from: ResolvedEndpoint,
  to: Target,
  pair: Pair,
): JudgedFlow[] {
  const { protocol, port, service, nodePort, isHostPort } = to;
  const flow: Flow = {
    from: pair.from.address,
    to: pair.to.address,
    protocol,
    ...(port !== undefined && { port }),
    ...(((service !== undefined && !service.headless) || isHostPort) && { viaService: true }),
  };
  const common = {
    from,
    to,
    flow,
    family: pair.family,
    ...(pair.from.range && { fromRange: pair.from.range }),
    ...(pair.to.range && { toRange: pair.to.range }),
  };
  const direct = { ...common, verdict: evaluate(flow) };
  const led = sendersOf(from, to, flow, pair.family).map(viaNode => ({
    ...common,
    viaNode,
    verdict: ledBy(evaluate, flow, viaNode),
  }));
  // A pod comes to its own node first.
  if (led.length > 0 && podOf(from)?.node) return led;
  const node = nodePort?.addresses.find(address => familyOf(address) === pair.family);
  if (nodePort === undefined || node === undefined) return [direct, ...led];
  const through = { ...common, viaNode: node, verdict: throughNode(evaluate, flow, node, nodePort.port) };
  return nodePort.isElsewhere ? [through] : [direct, through];
}

/** Nodes that may forward it: the source pod's own, else any. The destination pod's own node keeps the source address. */
function sendersOf(
  from: ResolvedEndpoint,
  { endpoint, senders = [] }: Target,
  flow: Flow,
  family: Family,
): readonly Address[] {
  if (senders.some(({ addresses }) => addresses.includes(flow.from))) return [];
  const own = podOf(from)?.node || undefined;
  const nodes = senders.filter(({ name }) => name !== podOf(endpoint)?.node && name === (own ?? name));
  return nodes
    .flatMap(({ addresses }) => addresses.find(at => familyOf(at) === family) ?? [])
    .slice(0, MOST_SENDERS);
}

/** Nodes are alike to most policies. */
const MOST_SENDERS = 8;

/** The source is judged towards the pod, and the pod sees the node as its client. */
function ledBy(evaluate: (flow: Flow) => FlowVerdict, flow: Flow, node: Address): FlowVerdict {
  const { egress } = evaluate(flow);
  return seenFrom(node, evaluate, flow, egress);
}

/**
 * The case of a connection that a node forwards with its own address: the source's egress is judged towards the node,
 * and the pod's ingress from the node.
 */
function throughNode(
  evaluate: (flow: Flow) => FlowVerdict,
  flow: Flow,
  node: Address,
  port: number,
): FlowVerdict {
  const { egress } = evaluate({ from: flow.from, to: node, protocol: flow.protocol, port });
  return seenFrom(node, evaluate, flow, egress);
}

/** The egress verdict stays that of the source; ingress is judged as the pod sees it, from the node. */
function seenFrom(
  node: Address,
  evaluate: (flow: Flow) => FlowVerdict,
  flow: Flow,
  egress: FlowVerdict['egress'],
): FlowVerdict {
  const { ingress } = evaluate({ ...flow, from: node });
  const verdict = egress.verdict === 'allow' && ingress.verdict === 'allow' ? 'allow' : 'deny';
  return { verdict, egress, ingress };
}

/** The cluster as if DNS had answered every pod with these addresses. */
function withResolved({ resolved }: Cluster, names: ReadonlyMap<Address, string>): Resolved {
  return {
    has: (pod, address, pattern) => {
      const name = names.get(address);
      if (name !== undefined && matchesDomainName(pattern, name)) return true;
      return resolved?.has(pod, address, pattern) ?? false;
    },
  };
}

// An endpoint without a known address gets one address of each range that the policies of the other end treat alike.

/** An address that is judged for an endpoint: its own, or one that represents a range. */
interface CandidateAddress {
  readonly address: Address;
  /** Absent where the address is the endpoint's own. */
  readonly range?: AddressRange;
}

/** With more pieces a question would take minutes; the note says so. */
export const MOST_PIECES = 2_000;

interface AssignedAddresses {
  readonly endpoint: ResolvedEndpoint;
  readonly candidates: readonly CandidateAddress[];
  /** The pod that exists only for this question. */
  readonly pod?: Pod;
  readonly isCut: boolean;
}

/** `others` are the pods at the other end: their policies in `direction` judge this address. */
function assignAddresses(
  cluster: Cluster,
  endpoint: ResolvedEndpoint,
  others: readonly Pod[],
  direction: Direction,
  taken: Set<Address>,
): AssignedAddresses {
  const { unassigned, addresses } = endpoint;
  if (unassigned === undefined)
    return { endpoint, candidates: addresses.map(address => ({ address })), isCut: false };
  const all = pieces(unassigned.within, networksSeenBy(cluster, others, direction));
  const candidates = all.slice(0, MOST_PIECES).flatMap(range => candidateIn(range, taken));
  const { pod } = unassigned;
  const there = pod && { ...pod, addresses: candidates.map(({ address }) => address) };
  return { endpoint, candidates, isCut: all.length > MOST_PIECES, ...(there && { pod: there }) };
}

function candidateIn(range: AddressRange, taken: Set<Address>): CandidateAddress[] {
  const address = freeIn(range, taken);
  if (address === undefined) return [];
  taken.add(address);
  return [{ address, range }];
}

function networksSeenBy(cluster: Cluster, pods: readonly Pod[], direction: Direction): readonly Cidr[] {
  const seeing = [...cluster.policies.values()].filter(
    policy =>
      policy[direction] !== undefined &&
      pods.some(pod => matchPod(policy.subject, pod, namespaceOf(cluster, pod.namespace)) !== 'no'),
  );
  return seeing.flatMap(policy => policy[direction]!.flatMap(networksOf));
}

function networksOf({ peers }: Rule): readonly Cidr[] {
  if (peers === 'any') return [];
  return peers.flatMap(peer => (peer.kind === 'network' ? [peer.cidr, ...peer.except] : []));
}
