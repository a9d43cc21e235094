/** What a change turns beside what was asked for. */
import { type Address, familyOf } from '../../model/address.ts';
import { addressOwners } from '../../model/addressowners.ts';
import { addressesOfNode, type Cluster, namespaceOf } from '../../model/cluster.ts';
import type { Flow } from '../../model/flow.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { Direction, Policy } from '../../model/policy.ts';
import { matchPod } from '../../model/selector.ts';
import { evaluator, packetOf } from '../../semantics/evaluate.ts';
import { firstMatch, type View, viewOf } from '../../semantics/view.ts';

export interface Flip {
  /** Who they are: pods by name, others by address. */
  readonly from: string;
  readonly to: string;
  readonly flow: Flow;
  readonly verdict: 'allow' | 'deny';
}

/**
 * Every connection between pods, nodes and the addresses asked about whose verdict is another one afterwards, on the
 * ports that were asked about: the rules that came have no other.
 */
export function flipsOf(
  before: Cluster,
  after: Cluster,
  unknownPods: UnknownPods,
  asked: readonly Flow[],
): readonly Flip[] {
  const [was, is] = [evaluator(before, unknownPods), evaluator(after, unknownPods)];
  const owners = addressOwners(after);
  const nameOf = (address: Address) => owners.get(address)?.key ?? address;
  const found = new Map<string, Flip>();
  for (const flow of candidates(before, after, unknownPods, asked)) {
    const { verdict } = is(flow);
    if (was(flow).verdict === verdict) continue;
    const flip = { from: nameOf(flow.from), to: nameOf(flow.to), flow, verdict };
    found.set(`${flow.from} ${flow.to} ${flow.protocol} ${flow.port}`, flip);
  }
  return [...found.values()];
}

/** Only what one of the new rules matches can turn. */
function* candidates(
  before: Cluster,
  after: Cluster,
  unknownPods: UnknownPods,
  asked: readonly Flow[],
): Generator<Flow> {
  const added = [...after.policies.values()].filter(({ id }) => !before.policies.has(id));
  const view = viewOf({ ...after, policies: new Map(added.map(policy => [policy.id, policy])) }, unknownPods);
  const places = placesIn(after, asked);
  for (const policy of added)
    for (const own of ownAddresses(after, policy))
      for (const direction of DIRECTIONS)
        if (policy[direction] !== undefined) yield* matching(view, policy, direction, own, places, asked);
}

const DIRECTIONS: readonly Direction[] = ['ingress', 'egress'];

function* matching(
  view: View,
  { tier }: Policy,
  direction: Direction,
  own: Address,
  places: ReadonlySet<Address>,
  asked: readonly Flow[],
): Generator<Flow> {
  for (const peer of places) {
    if (familyOf(peer) !== familyOf(own)) continue;
    const [from, to] = direction === 'ingress' ? [peer, own] : [own, peer];
    for (const { protocol, port } of shapesOf(asked)) {
      const flow: Flow = { from, to, protocol, ...(port !== undefined && { port }) };
      const packet = packetOf(view, direction, flow);
      if (typeof packet !== 'string' && firstMatch(view, tier, packet) !== undefined) yield flow;
    }
  }
}

function shapesOf(asked: readonly Flow[]): readonly Flow[] {
  return [...new Map(asked.map(flow => [`${flow.protocol} ${flow.port}`, flow])).values()];
}

function ownAddresses(cluster: Cluster, { subject }: Policy): Address[] {
  return [...addressOwners(cluster)]
    .filter(([, pod]) => matchPod(subject, pod, namespaceOf(cluster, pod.namespace)) !== 'no')
    .map(([address]) => address);
}

function placesIn(cluster: Cluster, asked: readonly Flow[]): ReadonlySet<Address> {
  return new Set([
    ...addressOwners(cluster).keys(),
    ...[...cluster.nodes.values()].flatMap(addressesOfNode),
    ...asked.flatMap(({ from, to }) => [from, to]),
  ]);
}
