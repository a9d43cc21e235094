/** Every connection that a question may mean, each with its verdict. */
import { type Address, type AddressRange, type Cidr, type Family, familyOf } from '../../model/address.ts';
import { takenAddresses } from '../../model/addressowners.ts';
import { type Cluster, namespaceOf, type Pod, type PodKey, type Resolved } from '../../model/cluster.ts';
import { matchesDomainName } from '../../model/domainname.ts';
import type { Flow } from '../../model/flow.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { Direction, Rule } from '../../model/policy.ts';
import { matchPod } from '../../model/selector.ts';
import { evaluatorOf, type FlowVerdict } from '../../semantics/evaluate.ts';
import { type Walk, walk } from '../../semantics/explain.ts';
import { noPod, onNodeNetwork } from '../../semantics/reason.ts';
import { viewOf } from '../../semantics/view.ts';
import { type Completions, completionsOf, undecidedByLabels } from './completions.ts';
import { type ClusterView, podOf, type ResolvedEndpoint, type Target } from './place.ts';
import { freeIn, pieces } from './ranges.ts';
import { type Dialled, type Surroundings, waysTo } from './ways.ts';

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
  /** What the source's egress sees instead of the destination: the address and port of a node or a load balancer. */
  readonly dialled?: Dialled;
  /** What the destination sees instead of the source: the address of a node or a load balancer on the way. */
  readonly viaNode?: Address;
  /** The node on which the source would be, if it may be on several. */
  readonly onNode?: string;
}

/** The flow as the policy of one of its ends sees it. */
export function flowSeenBy(
  direction: Direction,
  { flow, dialled, viaNode }: Pick<JudgedFlow, 'flow' | 'dialled' | 'viaNode'>,
): Flow {
  if (direction === 'ingress') return viaNode === undefined ? flow : { ...flow, from: viaNode };
  if (dialled === undefined) return flow;
  return { from: flow.from, to: dialled.address, protocol: flow.protocol, port: dialled.port };
}

/** Whether a translation changes what policy sees of the connection, beside the destination. */
export function isSeenOtherwise({ dialled, viaNode }: Pick<JudgedFlow, 'dialled' | 'viaNode'>): boolean {
  return (dialled ?? viaNode) !== undefined;
}

/** The verdict on a connection whose two ends may see it differently. */
export function judgeSeen(
  evaluate: (flow: Flow) => FlowVerdict,
  each: Pick<JudgedFlow, 'flow' | 'dialled' | 'viaNode'>,
): FlowVerdict {
  if (!isSeenOtherwise(each)) return evaluate(each.flow);
  const { egress } = evaluate(flowSeenBy('egress', each));
  const { ingress } = evaluate(flowSeenBy('ingress', each));
  const verdict = egress.verdict === 'allow' && ingress.verdict === 'allow' ? 'allow' : 'deny';
  return { verdict, egress, ingress };
}

/** The walk through the policies of both ends, of the flow as each sees it. */
export function walkSeen(cluster: Cluster, each: JudgedFlow, unknownPods: UnknownPods): Walk {
  const direct = walk(cluster, each.flow, unknownPods);
  if (!isSeenOtherwise(each)) return direct;
  const { egress } = walk(cluster, flowSeenBy('egress', each), unknownPods);
  const { ingress } = walk(cluster, flowSeenBy('ingress', each), unknownPods);
  return { ...direct, verdict: each.verdict.verdict, egress, ingress };
}

/** Every connection that a question may mean, judged. */
export interface JudgedQuestion {
  readonly cases: readonly JudgedFlow[];
  /** The cluster in which the flows were judged, with the pods that do not exist yet; the first of several. */
  readonly cluster: Cluster;
  /** The clusters of all labels that unknown namespaces may have. */
  readonly completions: Completions;
  /** Whether there were too many cases to judge all. */
  readonly isCut: boolean;
}

const MOST_CASES = 20_000;

/** The text about a case, with the name of an end instead of an address that only represents it. */
export function withNames(text: string, { from, to, flow, fromRange, toRange }: JudgedFlow): string {
  let named = text;
  if (fromRange && podOf(from) === undefined) named = named.replaceAll(flow.from, from.name);
  if (toRange && podOf(to.endpoint) === undefined) named = named.replaceAll(flow.to, to.endpoint.name);
  if (flow.from === flow.to) return named;
  if (from.isOnNode) named = asOnNode(named, from, fromRange ? from.name : flow.from);
  return to.endpoint.isOnNode ? asOnNode(named, to.endpoint, toRange ? to.endpoint.name : flow.to) : named;
}

function asOnNode(text: string, { name }: ResolvedEndpoint, shown: string): string {
  return text.replaceAll(noPod(shown), onNodeNetwork(name));
}

/**
 * Judges each connection that the question means, in each address family that source and destination share, or in the
 * one asked for.
 */
export function judge(
  { cluster, unknownPods, index, masquerade }: ClusterView,
  sources: readonly ResolvedEndpoint[],
  targets: readonly Target[],
  family: Family | undefined,
): JudgedQuestion {
  const taken = takenBeside(cluster, sources, targets);
  const podsOf = (places: readonly ResolvedEndpoint[]) => places.flatMap(endpoint => podOf(endpoint) ?? []);
  const toPods = podsOf(targets.map(({ endpoint }) => endpoint));
  const from = sources.map(endpoint => assignAddresses(cluster, endpoint, toPods, 'ingress', taken));
  const assignedTo = new Map<ResolvedEndpoint, AssignedAddresses>();
  // Once for all ports of an endpoint: a small network has no addresses for each of them.
  for (const endpoint of new Set(targets.map(target => target.endpoint)))
    assignedTo.set(endpoint, assignAddresses(cluster, endpoint, podsOf(sources), 'egress', taken));
  const assigned = [...from, ...assignedTo.values()];
  const unresolved = withPods(
    cluster,
    assigned.flatMap(({ pod }) => pod ?? []),
  );
  const names = namesIn(assignedTo.values());
  const inhabited =
    names.size === 0 ? unresolved : { ...unresolved, resolved: withResolved(unresolved, names) };
  const viewIn = (each: Cluster) => viewOf(each, unknownPods, undefined, index);
  const completions = completionsOf(inhabited, [...toPods, ...podsOf(sources)]);
  const scenes = completions.clusters.map((each): Scene => {
    const view = viewIn(each);
    return { evaluate: evaluatorOf(view), around: { ...view, ...(masquerade && { masquerade }) } };
  });
  const scene = scenes[0]!;
  const before =
    inhabited === unresolved
      ? scene.evaluate
      : evaluatorOf(viewIn({ ...unresolved, namespaces: completions.clusters[0]!.namespaces }));
  const cases: JudgedFlow[] = [];
  const isAtLimit = () => cases.length >= MOST_CASES;
  const asked = targets.filter(to => (family ?? to.family) === (to.family ?? family));
  for (const source of from) {
    const start = cases.length;
    for (const to of asked)
      for (const pair of pairs(
        source.candidates,
        assignedTo.get(to.endpoint)!.candidates,
        to.family ?? family,
      )) {
        if (isAtLimit()) break;
        const inEach = scenes.map(each => casesOf(each, source.endpoint, to, pair));
        const found = inEach[0]!.map((each, i) =>
          inAll(
            each,
            inEach.map(some => some[i]!),
            completions,
          ),
        );
        cases.push(...found.map(each => withUnresolved(each, before)));
      }
    if (cases.length === start) cases.push(...unanswered(scene, source, asked, assignedTo, family));
  }
  const isCut = isAtLimit() || assigned.some(each => each.isCut);
  return { cases, cluster: completions.clusters[0]!, isCut, completions };
}

/** A case as it is for all labels that namespaces may have. */
function inAll(first: JudgedFlow, all: readonly JudgedFlow[], completions: Completions): JudgedFlow {
  const doubt =
    all.find(({ undecided }) => undecided !== undefined)?.undecided ??
    undecidedByLabels(
      completions,
      all.map(({ verdict }) => verdict.verdict),
    );
  return doubt === undefined ? first : { ...first, undecided: doubt };
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

interface Scene {
  readonly evaluate: (flow: Flow) => FlowVerdict;
  readonly around: Surroundings;
}

/** None where the source does not reach this target. */
function casesOf({ evaluate, around }: Scene, from: ResolvedEndpoint, to: Target, pair: Pair): JudgedFlow[] {
  const common = flowOf(from, to, pair);
  return waysTo(around, from, to, common.flow).map(({ clients: [first, ...others], ...way }) => {
    const seen = { ...common, ...way, ...(first && { viaNode: first }) };
    const verdict = judgeSeen(evaluate, seen);
    const other = others.find(viaNode =>
      isOther(verdict, judgeSeen(evaluate, { ...seen, viaNode: viaNode! })),
    );
    const undecided = other && { undecided: clientText(seen, other, verdict.verdict) };
    return { ...seen, verdict, ...undecided };
  });
}

function isOther({ verdict }: FlowVerdict, other: FlowVerdict): boolean {
  return verdict !== other.verdict;
}

function flowOf(from: ResolvedEndpoint, to: Target, pair: Pair): Omit<JudgedFlow, 'verdict'> {
  const { protocol, port, service, translation } = to;
  const flow: Flow = {
    from: pair.from.address,
    to: pair.to.address,
    protocol,
    ...(port !== undefined && { port }),
    ...(((service !== undefined && !service.headless) || translation) && { viaService: true }),
  };
  return {
    from,
    to,
    flow,
    family: pair.family,
    ...(pair.from.range && { fromRange: pair.from.range }),
    ...(pair.to.range && { toRange: pair.to.range }),
  };
}

/** Why it is not known as whom the destination sees the source. */
function clientText(
  { from, to, flow, dialled }: Omit<JudgedFlow, 'verdict'>,
  other: Address,
  verdict: 'allow' | 'deny',
): string {
  const opposite = verdict === 'allow' ? 'deny' : 'allow';
  const pod = to.endpoint.name;
  if (to.translation?.kind === 'load-balancer')
    return `${pod} may see the load balancer ${dialled?.address}, a node or ${from.name} as its client: policy would ${verdict} ${from.name} (${flow.from}), and ${opposite} ${other}`;
  return `whether the pod network masquerades what pods send to nodes is not known (--masquerade=yes or no): if so, ${pod} sees ${other}, and policy would ${opposite} this; if not, it would ${verdict} it`;
}

/** One case of a source that reaches none of the targets, of each family. */
function unanswered(
  { evaluate }: Scene,
  { endpoint, candidates }: AssignedAddresses,
  targets: readonly Target[],
  assigned: ReadonlyMap<ResolvedEndpoint, AssignedAddresses>,
  family: Family | undefined,
): JudgedFlow[] {
  const found = targets.flatMap(to =>
    [...pairs(candidates, assigned.get(to.endpoint)!.candidates, to.family ?? family)].map(pair => {
      const common = flowOf(endpoint, to, pair);
      return { ...common, verdict: evaluate(common.flow), undecided: unansweredText(endpoint, to) };
    }),
  );
  return [...new Map(found.toReversed().map(each => [each.family, each])).values()];
}

function unansweredText(from: ResolvedEndpoint, { service, translation }: Target): string {
  const which =
    translation?.kind === 'local-service'
      ? `internalTrafficPolicy Local, and no endpoint is on the node of ${from.name}`
      : 'externalTrafficPolicy Local, and no endpoint is on the node that is dialled';
  return `Service ${service?.key} has ${which}: connections get no answer, whatever policy says`;
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

/** With the addresses of the ends that have some: a pod that had one of these would be the other end, to policy. */
function takenBeside(
  cluster: Cluster,
  sources: readonly ResolvedEndpoint[],
  targets: readonly Target[],
): Set<Address> {
  const taken = takenAddresses(cluster);
  for (const { addresses } of [...sources, ...targets.map(({ endpoint }) => endpoint)])
    for (const address of addresses) taken.add(address);
  for (const { translation } of targets)
    if (translation?.kind === 'load-balancer') taken.add(translation.address);
  return taken;
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
