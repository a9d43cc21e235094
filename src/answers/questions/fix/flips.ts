/** What a change turns beside what was asked for. */
import { type Address, familyOf } from '../../../model/address.ts';
import { takenAddresses } from '../../../model/addressowners.ts';
import type { Flow } from '../../../model/flow.ts';
import { DIRECTIONS, type Direction, type Policy } from '../../../model/policy.ts';
import { evaluatorOf, packetOf } from '../../../semantics/evaluate.ts';
import { selects } from '../../../semantics/match.ts';
import { firstMatch, type WholeView as View } from '../../../semantics/view.ts';

export interface Flip {
  /** Who they are: pods by name, others by address. */
  readonly from: string;
  readonly to: string;
  readonly flow: Flow;
  readonly verdict: 'allow' | 'deny';
}

/**
 * Every connection between pods, nodes and the addresses asked about whose verdict is another one afterwards, beside
 * what was asked for; on the ports that were asked about: the rules that came have no other.
 */
export function flipsOf(
  before: View,
  after: View,
  asked: readonly Flow[],
  names: ReadonlyMap<Address, string>,
): readonly Flip[] {
  const [was, is] = [evaluatorOf(before), evaluatorOf(after)];
  const nameOf = (address: Address) => after.owners.get(address)?.key ?? names.get(address) ?? address;
  // A name once, whatever stands for it.
  const keyOf = ({ from, to, protocol, port }: Flow) => `${from} ${names.get(to) ?? to} ${protocol} ${port}`;
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

/** Only what one of the new rules matches can turn. */
function* candidates(before: View, after: View, asked: readonly Flow[]): Generator<Flow> {
  const { policies } = before.cluster;
  const added = [...after.cluster.policies.values()].filter(({ id }) => !policies.has(id));
  const view: View = {
    ...after,
    policiesOn: (...of) => after.policiesOn(...of).filter(({ id }) => !policies.has(id)),
  };
  const places = takenAddresses(after.cluster, after.owners);
  for (const address of asked.flatMap(({ from, to }) => [from, to])) places.add(address);
  for (const policy of added)
    for (const own of ownAddresses(after, policy))
      for (const direction of DIRECTIONS)
        if (policy[direction] !== undefined) yield* matching(view, policy, direction, own, places, asked);
}

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

function ownAddresses({ cluster, owners }: View, { subject }: Policy): Address[] {
  return [...owners].filter(([, pod]) => selects(cluster, subject, pod) !== 'no').map(([address]) => address);
}
