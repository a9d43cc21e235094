/** The other connections that a change of policies opens or closes. */
import { type Address, familyOf } from '../../../model/address.ts';
import { takenAddresses } from '../../../model/addressowners.ts';
import type { Cluster, Pod } from '../../../model/cluster.ts';
import type { Flow } from '../../../model/flow.ts';
import {
  DIRECTIONS,
  type Direction,
  type Peer,
  type Policy,
  type PortMatch,
  type Rule,
  rulesOf,
} from '../../../model/policy.ts';
import { evaluatorOf, packetOf } from '../../../semantics/evaluate.ts';
import { selects } from '../../../semantics/match.ts';
import { firstMatch, type WholeView as View } from '../../../semantics/view.ts';
import type { Meaning } from './sides.ts';

export interface Flip {
  /** Source and destination: pods and nodes by name, others by address. */
  readonly from: string;
  readonly to: string;
  readonly flow: Flow;
  readonly verdict: 'allow' | 'deny';
}

/** What addresses represent that are nobody's. */
type Represented = ReadonlyMap<Address, string>;

function representedBy({ domains, internet }: Pick<Meaning, 'domains' | 'internet'>): Represented {
  return new Map([...domains, ...[...internet].map(address => [address, 'internet'] as const)]);
}

/**
 * Every other connection between pods, nodes and the addresses of the question whose verdict the fix would change; on
 * the ports of the question, because the new rules have no others.
 */
export function flipsOf(
  before: View,
  after: View,
  asked: readonly Flow[],
  meaning: Pick<Meaning, 'domains' | 'internet'>,
): readonly Flip[] {
  const represented = representedBy(meaning);
  const [was, is] = [evaluatorOf(before), evaluatorOf(after)];
  const nodeAt = (address: Address) => {
    const node = after.owners.has(address) ? undefined : after.nodeWith(address);
    return node && `node/${node.name}`;
  };
  const nameOf = (address: Address) =>
    after.owners.get(address)?.key ?? represented.get(address) ?? nodeAt(address) ?? address;
  // Flows of the same names count once, although several addresses represent a name, and a node has that of its tunnel.
  const endOf = (address: Address) => represented.get(address) ?? nodeAt(address) ?? address;
  const keyOf = ({ from, to, protocol, port }: Flow) => `${endOf(from)} ${endOf(to)} ${protocol} ${port}`;
  const found = new Map<string, Flip>();
  for (const flow of candidates(before, after, asked)) {
    const { verdict } = is(flow);
    if (was(flow).verdict === verdict) continue;
    const flip = { from: nameOf(flow.from), to: nameOf(flow.to), flow, verdict };
    found.set(keyOf(flow), flip);
  }
  for (const flow of asked) found.delete(keyOf(flow));
  return [...found.values()];
}

/** One for each pair of names: a pod has an address of each family, and one that is not there yet may have many. */
export function distinctFlips(flips: readonly Flip[]): readonly Flip[] {
  const keyOf = ({ from, to, verdict, flow: { protocol, port } }: Flip) =>
    `${from} ${to} ${protocol} ${port} ${verdict}`;
  return [...new Map(flips.map(flip => [keyOf(flip), flip])).values()];
}

/**
 * Only flows that a rule matches which is not the same before and after can change their verdict, and those of pods that a
 * changed policy selects only now.
 */
function* candidates(before: View, after: View, asked: readonly Flow[]): Generator<Flow> {
  const places = takenAddresses(after.cluster, after.owners);
  for (const address of asked.flatMap(({ from, to }) => [from, to])) places.add(address);
  for (const policy of changedIn(after, before)) {
    const old = before.cluster.policies.get(policy.id);
    const is = withoutRulesOf(policy, old);
    const was = old && withoutRulesOf(old, policy);
    const shapes = [...shapesOf(asked), ...(was === undefined ? [] : portsOf([was, is], after))];
    const were = new Set(old === undefined ? [] : ownAddresses(before, old));
    yield* matching(after, is, ownAddresses(after, policy), places, shapes);
    if (was === undefined) continue;
    yield* matching(before, was, were, places, shapes);
    for (const own of isolatedAnew(after, policy, were))
      for (const direction of DIRECTIONS)
        yield* between(direction, own, places, shapesOf([...shapes, ...portsAt(own, direction, after)]));
  }
}

/** Whether an edit changes rules about more ports than are asked and listed, as about all or about a range. */
export function changesMorePorts(before: View, after: View): boolean {
  return changedIn(after, before).some(policy => {
    const old = before.cluster.policies.get(policy.id);
    if (old === undefined) return false;
    const both = [withoutRulesOf(old, policy), withoutRulesOf(policy, old)];
    const isWide = both.flatMap(rulesOf).some(({ ports }) => ports === 'any' || ports.some(isOfMany));
    const were = new Set(ownAddresses(before, old));
    return (
      isWide || portsIn(both, after).length > MOST_SHAPES || isolatedAnew(after, policy, were).length > 0
    );
  });
}

function isOfMany(port: PortMatch): boolean {
  return port.kind === 'protocol' || (port.kind === 'range' && port.first < port.last);
}

function isolatedAnew(after: View, policy: Policy, were: ReadonlySet<Address>): Address[] {
  return ownAddresses(after, policy).filter(own => !were.has(own));
}

/** On which somebody may be served now. */
function portsAt(own: Address, direction: Direction, { owners }: View): readonly Shape[] {
  return direction === 'ingress' ? (owners.get(own)?.ports ?? []) : [];
}

/** The policy without the rules that another version of it has as well, unless that selects other pods. */
function withoutRulesOf(policy: Policy, other: Policy | undefined): Policy {
  if (other === undefined || JSON.stringify(policy.subject) !== JSON.stringify(other.subject)) return policy;
  const same = new Set(rulesOf(other).map(rule => JSON.stringify(rule)));
  const own = (rules: readonly Rule[]) => rules.filter(rule => !same.has(JSON.stringify(rule)));
  const { ingress, egress } = policy;
  return { ...policy, ...(ingress && { ingress: own(ingress) }), ...(egress && { egress: own(egress) }) };
}

function changedIn(after: View, { cluster: { policies } }: View): readonly Policy[] {
  return [...after.cluster.policies.values()].filter(policy => policies.get(policy.id) !== policy);
}

/** The view with this policy alone, where it counts. */
function only(policy: Policy, view: View): View {
  return {
    ...view,
    policiesOn: (...of) => view.policiesOn(...of).flatMap(each => (each.id === policy.id ? [policy] : [])),
  };
}

function* matching(
  view: View,
  policy: Policy,
  owns: Iterable<Address>,
  places: ReadonlySet<Address>,
  shapes: readonly Shape[],
): Generator<Flow> {
  const alone = only(policy, view);
  for (const direction of DIRECTIONS) {
    const peers = peersAmong(places, policy[direction] ?? [], view);
    if (peers.length === 0) continue;
    for (const own of owns)
      for (const flow of between(direction, own, peers, shapes)) {
        const packet = packetOf(view, direction, flow);
        if (typeof packet !== 'string' && firstMatch(alone, policy.tier, packet) !== undefined) yield flow;
      }
  }
}

/** Looked up once, and not for each pod that the policy selects: those that the rules can mean. */
function peersAmong(
  places: ReadonlySet<Address>,
  rules: readonly Rule[],
  { cluster, owners }: View,
): readonly Address[] {
  const peers = rules.flatMap<Peer | 'any'>(rule => rule.peers);
  const selectors = peers.flatMap(peer => (peer !== 'any' && peer.kind === 'pods' ? [peer.selector] : []));
  if (selectors.length < peers.length) return [...places];
  const isMeant = (pod: Pod) => selectors.some(selector => selects(cluster, selector, pod) !== 'no');
  return [...places].filter(address => {
    const pod = owners.get(address);
    return pod !== undefined && isMeant(pod);
  });
}

function* between(
  direction: Direction,
  own: Address,
  places: Iterable<Address>,
  shapes: readonly Shape[],
): Generator<Flow> {
  for (const peer of places) {
    if (familyOf(peer) !== familyOf(own)) continue;
    const [from, to] = direction === 'ingress' ? [peer, own] : [own, peer];
    for (const { protocol, port } of shapes)
      yield { from, to, protocol, ...(port !== undefined && { port }) };
  }
}

type Shape = Pick<Flow, 'protocol' | 'port'>;

function shapesOf(asked: readonly Shape[]): readonly Shape[] {
  return [...new Map(asked.map(flow => [`${flow.protocol} ${flow.port}`, flow])).values()];
}

/** A policy that is edited has rules for ports that nobody asked about. */
function portsOf(policies: readonly Policy[], view: View): readonly Shape[] {
  return portsIn(policies, view).slice(0, MOST_SHAPES);
}

/** Those that its rules name, then those on which pods listen, which ranges and names may mean. */
function portsIn(policies: readonly Policy[], { cluster, owners }: View): readonly Shape[] {
  const ports = policies.flatMap(rulesOf).flatMap<PortMatch | 'any'>(rule => rule.ports);
  const ranges = ports.flatMap(port => (port !== 'any' && port.kind === 'range' ? [port] : []));
  const isNamed = (name: string) =>
    ports.some(port => port !== 'any' && port.kind === 'named' && port.name === name);
  const isMeant = ({ name, protocol, port }: Pod['ports'][number]) =>
    isNamed(name) ||
    ports.some(each => each === 'any' || (each.kind === 'protocol' && each.protocol === protocol)) ||
    ranges.some(each => each.protocol === protocol && each.first <= port && port <= each.last);
  return shapesOf([
    ...ranges.map(({ protocol, first }) => ({ protocol, port: first })),
    ...[...owners.values()]
      .filter(pod => policies.some(policy => isReceiver(cluster, policy, pod)))
      .flatMap(pod => pod.ports.filter(isMeant)),
  ]);
}

function isReceiver(cluster: Cluster, { subject, ingress = [], egress = [] }: Policy, pod: Pod): boolean {
  const isPeer = ({ peers }: Rule) =>
    peers === 'any' ||
    peers.some(peer => peer.kind !== 'pods' || selects(cluster, peer.selector, pod) !== 'no');
  return (ingress.length > 0 && selects(cluster, subject, pod) !== 'no') || egress.some(isPeer);
}

/** Each is judged between all ends. */
const MOST_SHAPES = 32;

function ownAddresses({ cluster, owners }: View, { subject }: Policy): Address[] {
  return [...owners].filter(([, pod]) => selects(cluster, subject, pod) !== 'no').map(([address]) => address);
}
