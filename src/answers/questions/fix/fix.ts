/** Changes that would turn a verdict, each judged again before it is shown. */
import { type Cluster, isSelectable } from '../../../model/cluster.ts';
import type { Flow } from '../../../model/flow.ts';
import type { UnknownPods } from '../../../model/podcidrs.ts';
import { DIRECTIONS, type Direction, type Policy, type PolicyId } from '../../../model/policy.ts';
import { evaluatorOf, type FlowVerdict, packetOf } from '../../../semantics/evaluate.ts';
import { type Packet, selects } from '../../../semantics/match.ts';
import { firstMatch, type WholeView as View, viewOf } from '../../../semantics/view.ts';
import type { Edits, PolicyEdit } from './edits.ts';
import { changesMorePorts, type Flip, flipsOf } from './flips.ts';
import {
  type ClusterChoice,
  clusterPolicy,
  type PolicyObject,
  proposedNetworkPolicy,
  withJoinedPeers,
} from './proposal.ts';
import { type Meaning, type Sides, sidesOf } from './sides.ts';
import type { Written } from './written.ts';

export interface Fix {
  readonly verdict: 'allow' | 'deny';
  /** Objects that are to be applied together. */
  readonly objects: readonly PolicyObject[];
  /** Other connections between existing pods whose verdict the fix would change. */
  readonly flips: readonly Flip[];
  /** It is about more ports than are asked and listed: its kind cannot express the one, or an edited rule has others. */
  readonly allPorts: boolean;
  /** What changes in policies that are there: `objects` are these whole, and others that are new. */
  readonly edits?: readonly PolicyEdit[];
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

/**
 * The other verdict for all of the flows; a sentence where there is no policy that gives just it. Where a policy that is
 * written seems to be mistyped, that is edited.
 */
export function proposeFix(asked: FixQuestion, decode: Decode, written?: Written): Fix | string {
  const { cluster, unknownPods, flows, meaning } = asked;
  const view = viewOf(cluster, unknownPods);
  const evaluate = evaluatorOf(view);
  const before = flows.map(flow => ({ flow, verdict: evaluate(flow) }));
  const wanted = before.some(({ verdict }) => verdict.verdict === 'deny') ? 'allow' : 'deny';
  const turning = before.filter(({ verdict }) => verdict.verdict !== wanted);
  const mended = written && editedFix(asked, view, wanted, turning, decode, written);
  if (mended !== undefined) return mended;
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

interface Turning {
  readonly flow: Flow;
  readonly verdict: FlowVerdict;
}

/** By an edit in each direction that has to change; where one has none, by a new policy there. */
function editedFix(
  asked: FixQuestion,
  view: View,
  wanted: 'allow' | 'deny',
  turning: readonly Turning[],
  decode: Decode,
  written: Written,
): Fix | undefined {
  const editable = { ...asked, view, wanted, turning, decode, written };
  const directions = wanted === 'allow' ? deniedDirections(turning) : DIRECTIONS;
  const found = directions.map(direction => [direction, workingEdit(editable, direction)] as const);
  const made = found.flatMap(([, each]) => each ?? []);
  if (made.length === 0) return undefined;
  const [first] = turning;
  const others =
    wanted === 'deny'
      ? []
      : found.flatMap(([direction, each]) =>
          each === undefined ? [allowance(view, asked.meaning, direction, first!.flow, first!.verdict)] : [],
        );
  const news = others.filter(each => typeof each !== 'string');
  const own = wanted === 'deny' ? made.slice(0, 1) : byPolicy(made);
  const objects = [...own.map(({ object }) => object), ...namedApart(news, asked.cluster)];
  const fix = news.length === others.length ? judged(asked, view, wanted, objects, decode) : '';
  if (typeof fix === 'string') return undefined;
  const edits = own.flatMap(each =>
    each.edits.map(({ policy, field, was, is }) => ({ policy, field, was, is })),
  );
  return { ...fix, edits };
}

/** One edit of each policy, since each object is whole. */
function byPolicy(made: readonly Made[]): readonly Made[] {
  return [...new Map(made.map(each => [each.edits[0].policy, each])).values()];
}

interface Editable extends FixQuestion {
  readonly view: View;
  readonly wanted: 'allow' | 'deny';
  readonly turning: readonly Turning[];
  readonly decode: Decode;
  readonly written: Written;
}

interface Made {
  readonly edits: Edits;
  readonly object: PolicyObject;
}

/** Each is judged for all flows, so few are tried. */
const MOST_TRIED = 20;

function workingEdit(asked: Editable, direction: Direction): Made | undefined {
  const { view, turning, wanted, flows, decode, written, unknownPods, meaning } = asked;
  const { flow, verdict } = turning.find(each => each.verdict[direction].verdict !== wanted) ?? turning[0]!;
  const packet = packetOf(view, direction, flow);
  if (typeof packet === 'string') return undefined;
  const known = { cluster: view.cluster, inventory: meaning.inventory };
  const { tier } = verdict[direction];
  const candidates =
    wanted === 'allow'
      ? written.edits.allowingEdits(
          known,
          view.policiesOn(packet.subject, direction, 'networkpolicy'),
          packet,
        )
      : written.edits.denyingEdits(
          known,
          tier === 'default' ? undefined : firstMatch(view, tier, packet),
          packet,
        );
  for (const edits of candidates.slice(0, MOST_TRIED)) {
    const object = written.of(edits[0].policy);
    const whole = object && written.edits.edited(object, edits);
    const policy = whole && decode(whole);
    if (policy?.id !== edits[0].policy) continue;
    const policies = new Map([...view.cluster.policies, [policy.id, policy] as const]);
    const evaluate = evaluatorOf(viewOf({ ...view.cluster, policies }, unknownPods));
    if (flows.every(each => evaluate(each)[direction].verdict === wanted)) return { edits, object: whole! };
  }
  return undefined;
}

function deniedDirections(turning: readonly Turning[]): readonly Direction[] {
  return (['egress', 'ingress'] as const).filter(direction =>
    turning.some(({ verdict }) => verdict[direction].verdict === 'deny'),
  );
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
  const isolated = verdict === 'allow' ? newlyIsolated(before, policies as readonly Policy[]) : undefined;
  if (isolated !== undefined) return isolated;
  return {
    verdict,
    objects,
    flips: flipsOf(before, after, flows, meaning),
    allPorts: flows[0]!.port === undefined || changesMorePorts(before, after),
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
  return deniedDirections([{ flow, verdict }]).map(direction =>
    allowance(view, meaning, direction, flow, verdict),
  );
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
