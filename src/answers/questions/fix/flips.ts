/** The other connections that a change of policies opens or closes. */
import { type Address, familyOf } from '../../../model/address.ts';
import { takenAddresses } from '../../../model/addressowners.ts';
import type { Flow } from '../../../model/flow.ts';
import { DIRECTIONS, type Direction, type Policy, rulesOf } from '../../../model/policy.ts';
import { evaluatorOf, packetOf } from '../../../semantics/evaluate.ts';
import { selects } from '../../../semantics/match.ts';
import { firstMatch, type WholeView as View } from '../../../semantics/view.ts';
import type { Meaning } from './sides.ts';

export interface Flip {
  /** Source and destination: pods by name, others by address. */
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
  const nameOf = (address: Address) => after.owners.get(address)?.key ?? represented.get(address) ?? address;
  // Flows of the same names count once, although several addresses represent a name.
  const endOf = (address: Address) => represented.get(address) ?? address;
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
 * Only flows that a rule of a changed policy matches, before or after, can change their verdict, and those of pods that one
 * selects only now.
 */
function* candidates(before: View, after: View, asked: readonly Flow[]): Generator<Flow> {
  const places = takenAddresses(after.cluster, after.owners);
  for (const address of asked.flatMap(({ from, to }) => [from, to])) places.add(address);
  for (const policy of changedIn(after, before)) {
    const old = before.cluster.policies.get(policy.id);
    const shapes = [...shapesOf(asked), ...(old === undefined ? [] : portsOf([old, policy]))];
    const were = new Set(old === undefined ? [] : ownAddresses(before, old));
    yield* matching(only(policy, after), policy, ownAddresses(after, policy), places, shapes);
    if (old === undefined) continue;
    yield* matching(only(old, before), old, were, places, shapes);
    const isolated = ownAddresses(after, policy).filter(own => !were.has(own));
    for (const own of isolated)
      for (const direction of DIRECTIONS) yield* between(direction, own, places, shapes);
  }
}

function changedIn(after: View, { cluster: { policies } }: View): readonly Policy[] {
  return [...after.cluster.policies.values()].filter(policy => policies.get(policy.id) !== policy);
}

/** The view with this policy alone. */
function only({ id }: Policy, view: View): View {
  return { ...view, policiesOn: (...of) => view.policiesOn(...of).filter(each => each.id === id) };
}

function* matching(
  view: View,
  policy: Policy,
  owns: Iterable<Address>,
  places: ReadonlySet<Address>,
  shapes: readonly Shape[],
): Generator<Flow> {
  for (const own of owns)
    for (const direction of DIRECTIONS) {
      if (policy[direction] === undefined) continue;
      for (const flow of between(direction, own, places, shapes)) {
        const packet = packetOf(view, direction, flow);
        if (typeof packet !== 'string' && firstMatch(view, policy.tier, packet) !== undefined) yield flow;
      }
    }
}

function* between(
  direction: Direction,
  own: Address,
  places: ReadonlySet<Address>,
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
function portsOf(policies: readonly Policy[]): readonly Shape[] {
  const ports = policies.flatMap(rulesOf).flatMap(rule => (rule.ports === 'any' ? [] : rule.ports));
  return shapesOf(
    ports.flatMap(port => (port.kind === 'range' ? [{ protocol: port.protocol, port: port.first }] : [])),
  ).slice(0, MOST_SHAPES);
}

/** Each is judged between all ends. */
const MOST_SHAPES = 8;

function ownAddresses({ cluster, owners }: View, { subject }: Policy): Address[] {
  return [...owners].filter(([, pod]) => selects(cluster, subject, pod) !== 'no').map(([address]) => address);
}
