/** Changes that would turn a verdict, each judged again before it is shown. */
import { type Address, familyOf } from '../../../model/address.ts';
import { takenAddresses } from '../../../model/addressowners.ts';
import { type Cluster, isSelectable } from '../../../model/cluster.ts';
import type { Flow } from '../../../model/flow.ts';
import type { UnknownPods } from '../../../model/podcidrs.ts';
import { DIRECTIONS, type Direction, type Policy, type PolicyId } from '../../../model/policy.ts';
import { evaluatorOf, type FlowVerdict, packetOf } from '../../../semantics/evaluate.ts';
import { type Packet, selects } from '../../../semantics/match.ts';
import { firstMatch, type WholeView as View, viewOf } from '../../../semantics/view.ts';
import {
  type ClusterChoice,
  clusterPolicy,
  type PolicyObject,
  proposedNetworkPolicy,
  withJoinedPeers,
} from './proposal.ts';
import { type Meaning, type Sides, sidesOf } from './sides.ts';

export interface Fix {
  readonly verdict: 'allow' | 'deny';
  /** Objects that are to be applied together. */
  readonly objects: readonly PolicyObject[];
  /** Other connections between existing pods whose verdict the fix would change. */
  readonly flips: readonly Flip[];
  /** It is about every port and protocol, because its kind cannot express the one that was asked about. */
  readonly allPorts: boolean;
  /** Remarks on addresses, by the CIDRs of the objects; absent if nothing is known of them. */
  readonly remarks?: ReadonlyMap<string, string>;
}

/** Decodes an object as the source that it is from would; undefined if that source would refuse it. */
export type Decode = (object: PolicyObject) => Policy | undefined;

export interface FixQuestion {
  readonly cluster: Cluster;
  readonly unknownPods: UnknownPods;
  /** The flows of the question: the verdict of all of them is to change. */
  readonly flows: readonly Flow[];
  readonly meaning: Meaning;
}

/** The other verdict for all of the flows; a sentence where there is no policy that gives just it. */
export function proposeFix(asked: FixQuestion, decode: Decode): Fix | string {
  const { cluster, unknownPods, flows, meaning } = asked;
  const view = viewOf(cluster, unknownPods);
  const evaluate = evaluatorOf(view);
  const before = flows.map(flow => ({ flow, verdict: evaluate(flow) }));
  const wanted = before.some(({ verdict }) => verdict.verdict === 'deny') ? 'allow' : 'deny';
  const turning = before.filter(({ verdict }) => verdict.verdict !== wanted);
  const changes = new Map<string, Change>();
  for (const { flow, verdict } of turning)
    for (const change of changesFor(view, meaning, flow, verdict, wanted)) {
      if (typeof change === 'string') return change;
      const key = textOf(change);
      const known = changes.get(key);
      if (known === undefined || isBefore(change, known)) changes.set(key, change);
    }
  return judged(asked, view, wanted, namedApart(withJoinedPeers([...changes.values()]), cluster), decode);
}

type Change = PolicyObject & { readonly spec: { readonly priority?: number } };

/** The key of a change without its name and place: of two equal changes the one that is asked first is enough. */
function textOf(change: Change): string {
  return JSON.stringify({ ...change, metadata: undefined, spec: { ...change.spec, priority: undefined } });
}

function isBefore({ spec: { priority = 0 } }: Change, other: Change): boolean {
  return priority < (other.spec.priority ?? 0);
}

/** Gives a number to objects whose name another proposed or existing policy of the namespace has. */
function namedApart(
  objects: readonly PolicyObject[],
  { policies, audited = new Map() }: Cluster,
): PolicyObject[] {
  const all: readonly Policy[] = [...policies.values(), ...audited.values()];
  const taken = new Set(all.map(({ name }) => name));
  return objects.map(object => {
    const { name, namespace } = object.metadata as { readonly name: string; readonly namespace?: string };
    const keyOf = (each: string) => (namespace === undefined ? each : `${namespace}/${each}`);
    let free = name;
    for (let n = 2; taken.has(keyOf(free)); n++) free = `${name}-${n}`;
    taken.add(keyOf(free));
    return { ...object, metadata: { name: free, ...(namespace !== undefined && { namespace }) } };
  });
}

function judged(
  { cluster, unknownPods, flows, meaning }: FixQuestion,
  before: View,
  verdict: 'allow' | 'deny',
  objects: readonly PolicyObject[],
  decode: Decode,
): Fix | string {
  const policies = objects.map(decode);
  if (objects.length === 0 || policies.includes(undefined)) return NONE;
  const added = policies.map(policy => [policy!.id, policy!] as const);
  const changed = { ...cluster, policies: new Map<PolicyId, Policy>([...cluster.policies, ...added]) };
  const after = viewOf(changed, unknownPods);
  const evaluate = evaluatorOf(after);
  if (flows.some(flow => evaluate(flow).verdict !== verdict)) return NONE;
  const isolated = newlyIsolated(before, policies as readonly Policy[]);
  if (isolated !== undefined) return isolated;
  return {
    verdict,
    objects,
    flips: flipsOf(before, after, flows, representedBy(meaning)),
    allPorts: flows[0]!.port === undefined,
  };
}

/** A pod that no policy isolated before: a policy that allows it one thing would deny all else. */
function newlyIsolated(view: View, added: readonly Policy[]): string | undefined {
  const { cluster } = view;
  for (const policy of added.filter(({ tier }) => tier === 'networkpolicy'))
    for (const direction of ['ingress', 'egress'] as const)
      for (const pod of policy[direction] === undefined ? [] : cluster.pods.values())
        if (isSelectable(pod) && selects(cluster, policy.subject, pod) !== 'no') {
          if (view.policiesOn(pod, direction, 'networkpolicy').length === 0)
            return `a policy for these labels would isolate ${pod.key} for ${direction} too, which none does now`;
        }
  return undefined;
}

const NONE = 'no policy of one rule turns this verdict';

function changesFor(
  view: View,
  meaning: Meaning,
  flow: Flow,
  verdict: FlowVerdict,
  wanted: 'allow' | 'deny',
): readonly (Change | string)[] {
  if (wanted === 'deny') return [denial(view, meaning, flow)];
  const denying = (['egress', 'ingress'] as const).filter(direction => verdict[direction].verdict === 'deny');
  return denying.map(direction => allowance(view, meaning, direction, flow, verdict));
}

/** A pod that is isolated gets one more allow rule; a deny of a cluster policy gets an Allow before it. */
function allowance(
  view: View,
  meaning: Meaning,
  direction: Direction,
  flow: Flow,
  verdict: FlowVerdict,
): Change | string {
  const packet = packetOf(view, direction, flow);
  const { tier, policy } = verdict[direction];
  if (typeof packet === 'string' || tier === 'default')
    return `no policy decides this: ${verdict[direction].reason}`;
  const sides = sidesOf(meaning, packet);
  if (typeof sides === 'string') return sides;
  // A NetworkPolicy cannot express domain names.
  if (tier !== 'networkpolicy' || sides.peer.kind === 'domain')
    return byClusterPolicy(view, packet, sides, 'Allow', policy);
  return proposedNetworkPolicy(packet, nameFor('allow', packet, sides), sides);
}

/** The denial is made for a pod that labels can select: the destination, else the source. */
function denial(view: View, meaning: Meaning, flow: Flow): Change | string {
  if (meaning.domains.has(flow.to)) return 'no policy denies by a name: only an edit of what allows it can';
  let why = 'no policy can deny just this: none has a word for such ends, or an earlier one already decides';
  for (const direction of ['ingress', 'egress'] as const) {
    const packet = packetOf(view, direction, flow);
    if (typeof packet === 'string') continue;
    const sides = sidesOf(meaning, packet);
    const object =
      typeof sides === 'string' ? sides : byClusterPolicy(view, packet, sides, 'Deny', undefined);
    if (typeof object !== 'string') return object;
    if (typeof sides === 'string') why = sides;
  }
  return why;
}

function byClusterPolicy(
  view: View,
  packet: Packet,
  sides: Sides,
  action: ClusterChoice['action'],
  decidedBy: PolicyId | undefined,
): Change | string {
  const first = firstMatch(view, 'admin', packet);
  const priority = first === undefined ? LAST : first.policy.order - 1;
  if (priority < 0)
    return `${first!.policy.id} has priority 0: only an edit of it can change what it decides (${first!.rule.path})`;
  const isOld = /^(Baseline)?AdminNetworkPolicy /.test(decidedBy ?? first?.policy.id ?? '');
  const kind = isOld ? 'AdminNetworkPolicy' : 'ClusterNetworkPolicy';
  const name = nameFor(action.toLowerCase(), packet, sides);
  return (
    clusterPolicy(packet, name, { kind, action, priority }, sides) ??
    `a ${kind} has no word for ${sides.peer.name === 'internet' ? 'the internet without the networks of the cluster' : 'an end outside the cluster as a source'}: only an edit of ${decidedBy ?? 'what decides'} can`
  );
}

const LAST = 1000;

/** `allow-visitor-to-db-5432`, at most 63 characters. */
function nameFor(verb: string, { direction, flow }: Packet, { subject, peer }: Sides): string {
  const [from, to] = direction === 'ingress' ? [peer, subject] : [subject, peer];
  const port = flow.port === undefined ? '' : `-${flow.port}`;
  const text = `${verb}-${shortened(from.name)}-to-${shortened(to.name)}`.slice(0, 56);
  return `${text}${port}`.replace(/-+/g, '-').replace(/-$/, '');
}

function shortened(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 22);
}

// The other connections that a change opens or closes.

export interface Flip {
  /** Source and destination: pods by name, others by address. */
  readonly from: string;
  readonly to: string;
  readonly flow: Flow;
  readonly verdict: 'allow' | 'deny';
}

/** What addresses represent that are nobody's. */
type Represented = ReadonlyMap<Address, string>;

function representedBy({ domains, internet }: Meaning): Represented {
  return new Map([...domains, ...[...internet].map(address => [address, 'internet'] as const)]);
}

/**
 * Every other connection between pods, nodes and the addresses of the question whose verdict the fix would change; on
 * the ports of the question, because the new rules have no others.
 */
function flipsOf(
  before: View,
  after: View,
  asked: readonly Flow[],
  represented: Represented,
): readonly Flip[] {
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

/** Only flows that one of the new rules matches can change their verdict. */
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
