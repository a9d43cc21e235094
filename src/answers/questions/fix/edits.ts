/**
 * Edits of policies that are there, where one seems to be mistyped: a label or a port that nobody has, or two items of a
 * list in place of one. Each is a guess, and is judged before it is shown.
 */
import { getOrMake } from '../../../lib/collections/getormake.ts';
import { didYouMean } from '../../../lib/text/didyoumean.ts';
import { type Cluster, NAMESPACE_NAME_LABEL, namespaceOf, type Pod } from '../../../model/cluster.ts';
import type { Inventory } from '../../../model/inventory.ts';
import { hasLabels, type LabelSelector, type Labels, type Requirement } from '../../../model/labels.ts';
import type { Direction, Peer, Policy, PolicyId, PortMatch, Rule } from '../../../model/policy.ts';
import {
  matchesLabels,
  matchPod,
  type PodSelector,
  podSelectorText,
  selectorText,
} from '../../../model/selector.ts';
import type { Workload } from '../../../model/workload.ts';
import { topWorkloads } from '../../../model/workloadof.ts';
import { matchingPeer, matchingPort, type Packet } from '../../../semantics/match.ts';
import { portText } from '../../../semantics/reason.ts';
import { mistypedSubjects } from '../nearsubject.ts';
import { servicePortsTo } from '../services.ts';
import type { PolicyObject } from './proposal.ts';
import { selectorObject } from './sides.ts';

/** What a field of a policy is, and should be, in words. */
export interface PolicyEdit {
  readonly policy: PolicyId;
  /** `spec.ingress[0].from[0].podSelector`. */
  readonly field: string;
  readonly was: string;
  readonly is: string;
}

/** An edit and how to make it: the value of the field, or the item of a list that becomes a part of another one. */
type MadeEdit = PolicyEdit & {
  /** How many items the list of the peer or port has; one that cannot be read shifts the others. */
  readonly of?: number;
} & ({ readonly set: unknown } | { readonly join: readonly [into: number, from: number] });

/** Edits of one policy that are made together. */
export type Edits = readonly [MadeEdit, ...MadeEdit[]];

/** The object with the edits; undefined where it is not written as they expect. */
export function edited(object: PolicyObject, edits: Edits): PolicyObject | undefined {
  const copy = ownCopy(object);
  return copy !== undefined && edits.every(edit => make(copy, edit)) ? copy : undefined;
}

/** A structured clone would change all aliases of an anchor. Undefined for an object that an alias makes a part of itself. */
function ownCopy(object: PolicyObject): PolicyObject | undefined {
  try {
    return JSON.parse(JSON.stringify(object)) as PolicyObject;
  } catch {
    return undefined;
  }
}

function make(object: unknown, edit: MadeEdit): boolean {
  const steps = edit.field.match(/[^.[\]]+/g) ?? [];
  let place = object as Record<string, unknown> | undefined;
  let list: unknown;
  for (const step of steps.slice(0, -1)) {
    if (Array.isArray(place)) list = place;
    place = place?.[step] as typeof place;
  }
  if (typeof place !== 'object' || place === null) return false;
  const last = steps.at(-1)!;
  if ('set' in edit) {
    if ((list as unknown[] | undefined)?.length !== edit.of) return false;
    place[last] = edit.set;
    return true;
  }
  const items = place[last] as Record<string, unknown>[];
  const [into, from] = edit.join;
  if (!Array.isArray(items) || items.length !== edit.of) return false;
  if (Object.keys({ ...items[into], ...items[from] }).length !== 2) return false;
  place[last] = items.flatMap((item, i) =>
    i === from ? [] : [i === into ? { ...item, ...items[from] } : item],
  );
  return true;
}

/** What is known where edits are looked for. */
export interface Surroundings {
  readonly cluster: Cluster;
  readonly inventory: Inventory;
}

/** Those that may let a denied packet through, the smallest first. `policies` select its pod. */
export function allowingEdits(
  known: Surroundings,
  policies: readonly Policy[],
  packet: Packet,
): readonly Edits[] {
  const words = new Words(known);
  const ofRules = policies
    .filter(({ kind }) => kind === 'NetworkPolicy')
    .flatMap(policy =>
      (policy[packet.direction] ?? []).flatMap(rule => editsOfRule(words, policy, rule, packet)),
    );
  return [...subjectEdits(known, packet), ...ofRules].toSorted((a, b) => a.length - b.length);
}

/** Those that may deny a packet that `rule` of the policy allows; without them, no policy is about its pod. */
export function denyingEdits(
  known: Surroundings,
  allowed: { readonly policy: Policy; readonly rule: Rule } | undefined,
  packet: Packet,
): readonly Edits[] {
  if (allowed === undefined) return subjectEdits(known, packet);
  const { policy, rule } = allowed;
  return policy.kind === 'NetworkPolicy' ? joinedItems(policy, rule, packet.direction) : [];
}

/** A policy that selects nobody, and this pod but for a mistyped label. */
function subjectEdits(
  { cluster, inventory }: Surroundings,
  { subject, direction }: Packet,
): readonly Edits[] {
  return mistypedSubjects(subject, { cluster, inventory }).flatMap(({ policy, noun, key, value, near }) => {
    if (policy.kind !== 'NetworkPolicy' || noun !== 'pod' || policy[direction] === undefined) return [];
    const { pods } = policy.subject;
    return [
      [ofSelector(policy, 'spec.podSelector', pods, replacing(pods, key, value, { key, value: near }))],
    ];
  });
}

function editsOfRule(words: Words, policy: Policy, rule: Rule, packet: Packet): readonly Edits[] {
  const isPort = matchingPort(rule, packet) !== undefined;
  const isPeer = matchingPeer(words.cluster, rule, packet) !== undefined;
  const port = isPort ? undefined : portEdit(words, policy, rule, packet);
  if (isPeer) return port === undefined ? [] : [[port]];
  if (!isPort && port === undefined) return [];
  const { peers } = rule;
  return (peers === 'any' ? [] : peers).flatMap((peer, at): Edits[] => {
    const found = peerEdits(words, policy, peer, `${peersField(packet.direction, rule)}[${at}]`, packet);
    if (found === undefined) return [];
    const [first, ...more] = found.map(each => ({ ...each, of: peers.length }));
    return [port === undefined ? [first!, ...more] : [first!, ...more, port]];
  });
}

function peersField(direction: Direction, { path }: Rule): string {
  return `spec.${path}.${direction === 'ingress' ? 'from' : 'to'}`;
}

// Ports.

/** The one port of a rule that nobody listens on becomes the one that is asked for. */
function portEdit(words: Words, policy: Policy, rule: Rule, packet: Packet): MadeEdit | undefined {
  const { ports, path } = rule;
  const { flow, subject, peerPod, direction } = packet;
  if (ports === 'any' || flow.port === undefined) return undefined;
  const pod = direction === 'ingress' ? subject : peerPod;
  const listeners = words.listeners(policy, rule, direction);
  if (pod === undefined || listeners === undefined) return undefined;
  const at = ports.findIndex(port => words.isMistyped(port, packet, pod, listeners));
  const port = ports[at];
  if (port === undefined) return undefined;
  const field = `spec.${path}.ports[${at}].port`;
  const is = portText({ kind: 'range', protocol: port.protocol ?? 'TCP', first: flow.port, last: flow.port });
  return { policy: policy.id, field, was: portText(port), is, set: flow.port, of: ports.length };
}

// Peers.

/** Undefined where more than mistyped labels keeps the peer from being the pod. */
function peerEdits(
  words: Words,
  policy: Policy,
  peer: Peer,
  field: string,
  { peerPod }: Packet,
): Edits | undefined {
  if (peer.kind !== 'pods' || peerPod === undefined) return undefined;
  const { pods } = peer.selector;
  const mended = words.mended(pods, peerPod.labels, words.podLabels);
  const ofPods = mended === pods ? [] : mended && [ofSelector(policy, `${field}.podSelector`, pods, mended)];
  const ofPlace = placeEdits(words, policy, peer.selector, field, peerPod);
  const [first, ...others] = ofPods && ofPlace ? [...ofPlace, ...ofPods] : [];
  return first && [first, ...others];
}

function placeEdits(
  words: Words,
  policy: Policy,
  selector: PodSelector,
  field: string,
  { namespace }: Pod,
): readonly MadeEdit[] | undefined {
  const { namespaces } = selector;
  const at = `${field}.namespaceSelector`;
  if (namespaces.kind === 'labels') {
    const mended = words.mended(namespaces.selector, words.labelsOf(namespace), words.namespaceLabels);
    if (mended === namespaces.selector) return [];
    return mended && [ofSelector(policy, at, namespaces.selector, mended)];
  }
  if (namespaces.name === namespace) return [];
  // Its author forgot the namespace, if nobody of the policy's own is meant.
  if (words.isAnybody(selector)) return undefined;
  const set = { matchLabels: { [NAMESPACE_NAME_LABEL]: namespace } };
  const is = `${NAMESPACE_NAME_LABEL}=${namespace}`;
  return [{ policy: policy.id, field: at, was: `none, so ${podSelectorText(selector)}`, is, set }];
}

function ofSelector(policy: Policy, field: string, was: LabelSelector, is: LabelSelector): MadeEdit {
  const set = selectorObject(is.requirements);
  return { policy: policy.id, field, was: selectorText(was), is: selectorText(is), set };
}

interface Label {
  readonly key: string;
  readonly value: string;
}

function replacing({ requirements }: LabelSelector, key: string, value: string, label: Label): LabelSelector {
  const isMeant = (each: Requirement) => each.key === key && each.values[0] === value;
  return {
    requirements: requirements.map(each =>
      isMeant(each) ? { key: label.key, operator: 'In', values: [label.value] } : each,
    ),
  };
}

// Two items in place of one.

/** Two items of a list, a namespaceSelector and a podSelector, mean either of both: its author may have meant both in one item. */
function joinedItems(policy: Policy, rule: Rule, direction: Direction): readonly Edits[] {
  const peers = rule.peers === 'any' ? [] : rule.peers;
  const places = [...peers.entries()].filter(([, peer]) => isOfNamespaces(peer));
  const pods = [...peers.entries()].filter(([, peer]) => isOfOwnNamespace(peer));
  const field = peersField(direction, rule);
  return places.flatMap(([into, place]) =>
    pods.map(([from, own]): Edits => {
      const edit = joined(policy, field, [into, from], [place, own]);
      return [{ ...edit, of: peers.length }];
    }),
  );
}

/** A namespaceSelector by itself. */
function isOfNamespaces(peer: Peer): boolean {
  return (
    peer.kind === 'pods' &&
    peer.selector.namespaces.kind === 'labels' &&
    peer.selector.pods.requirements.length === 0
  );
}

/** A podSelector by itself. */
function isOfOwnNamespace(peer: Peer): boolean {
  return peer.kind === 'pods' && peer.selector.namespaces.kind === 'name';
}

function joined(
  { id }: Policy,
  field: string,
  join: readonly [number, number],
  [place, pods]: readonly [Peer, Peer],
): MadeEdit {
  const namespaces = place.kind === 'pods' ? place.selector.namespaces : undefined;
  const labels = namespaces?.kind === 'labels' ? selectorText(namespaces.selector) : '';
  const own = pods.kind === 'pods' ? selectorText(pods.selector.pods) : '';
  const [one, other] = [`namespaceSelector ${labels}`, `podSelector ${own}`];
  return {
    policy: id,
    field,
    was: `${one}, or ${other} (two items)`,
    is: `${one} and ${other} (one item)`,
    join,
  };
}

// What labels and ports there are.

type Values = ReadonlyMap<string, ReadonlySet<string>>;

class Words {
  readonly cluster: Cluster;
  readonly #inventory: Inventory;
  readonly podLabels: Values;
  readonly namespaceLabels: Values;

  constructor({ cluster, inventory }: Surroundings) {
    this.cluster = cluster;
    this.#inventory = inventory;
    this.podLabels = valuesOf(
      [...cluster.pods.values(), ...topWorkloads(inventory)].map(each => each.labels),
    );
    this.namespaceLabels = valuesOf([...cluster.namespaces.keys()].map(name => this.labelsOf(name)));
  }

  labelsOf(namespace: string): Labels {
    return { [NAMESPACE_NAME_LABEL]: namespace, ...namespaceOf(this.cluster, namespace).labels };
  }

  isAnybody({ namespaces, pods }: PodSelector): boolean {
    return this.#all().some(
      each =>
        namespaces.kind === 'name' && each.namespace === namespaces.name && matchesLabels(pods, each.labels),
    );
  }

  /**
   * The selector with labels that somebody has, so that these labels meet it; itself where they do. Undefined where it asks
   * for something else.
   */
  mended(selector: LabelSelector, labels: Labels, known: Values): LabelSelector | undefined {
    let mended = selector;
    for (const requirement of selector.requirements) {
      if (matchesLabels({ requirements: [requirement] }, labels)) continue;
      const { key, operator, values } = requirement;
      const [value, ...others] = values;
      if (operator !== 'In' || value === undefined || others.length > 0) return undefined;
      const meant = known.get(key)?.has(value) ? undefined : nearLabel({ key, value }, labels, known);
      if (meant === undefined) return undefined;
      mended = replacing(mended, key, value, meant);
    }
    return mended;
  }

  /** Those whose ports a rule is about; undefined where it means more than pods of some labels. */
  listeners({ subject }: Policy, { peers }: Rule, direction: Direction): readonly Listener[] | undefined {
    const selectors = direction === 'ingress' ? [subject] : selectorsOf(peers);
    return selectors && this.#all().filter(each => selectors.some(selector => this.#selects(selector, each)));
  }

  /** Whether none of the pods listens on the port, and it is nearly the one that is asked for, or that of a Service. */
  isMistyped(port: PortMatch, { flow }: Packet, pod: Pod, listeners: readonly Listener[]): boolean {
    if (flow.port === undefined || port.protocol !== flow.protocol) return false;
    const own = this.#portsOfAllLike(pod).filter(each => each.protocol === flow.protocol);
    const all = [...own, ...listeners.flatMap(each => this.#portsOf(each))];
    if (port.kind === 'named') {
      if (all.some(({ name }) => name === port.name)) return false;
      const names = own.flatMap(each => (each.port === flow.port && each.name ? [each.name] : []));
      return didYouMean(port.name, names) !== undefined;
    }
    if (port.kind !== 'range' || port.first !== port.last) return false;
    if (all.some(each => each.protocol === port.protocol && each.port === port.first)) return false;
    return (
      own.some(each => each.port === flow.port) ||
      servicePortsTo(pod, flow, this.#inventory).includes(port.first) ||
      didYouMean(String(port.first), [String(flow.port)]) !== undefined
    );
  }

  #all(): readonly Listener[] {
    return [...this.cluster.pods.values(), ...topWorkloads(this.#inventory)];
  }

  #selects(selector: PodSelector, each: Listener): boolean {
    return matchPod(selector, each, namespaceOf(this.cluster, each.namespace)) !== 'no';
  }

  /** A pod that is not there yet is known by its workload. */
  #portsOfAllLike(pod: Pod): readonly Listening[] {
    const alike = this.#all().filter(
      ({ namespace, labels }) => namespace === pod.namespace && hasLabels(pod.labels, labels),
    );
    return [pod, ...alike].flatMap(each => this.#portsOf(each));
  }

  #portsOf(each: Listener): readonly Listening[] {
    const unnamed = 'key' in each ? this.#inventory.unnamedPorts.get(each.key) : each.unnamedPorts;
    return [...each.ports, ...(unnamed ?? [])];
  }
}

type Listener = Pod | Workload;
type Listening = Omit<Pod['ports'][number], 'name'> & { readonly name?: string };

function selectorsOf(peers: Rule['peers']): readonly PodSelector[] | undefined {
  if (peers === 'any') return undefined;
  const found = peers.flatMap(peer => (peer.kind === 'pods' ? [peer.selector] : []));
  const isNarrow = found.every(({ pods }) => pods.requirements.length > 0);
  return isNarrow && found.length === peers.length ? found : undefined;
}

/** The same key with nearly the value, or another key with the value, where nobody has the key. */
function nearLabel({ key, value }: Label, labels: Labels, known: Values): Label | undefined {
  const own = labels[key];
  if (own !== undefined) return didYouMean(value, [own]) === undefined ? undefined : { key, value: own };
  const other = known.has(key) ? undefined : Object.keys(labels).find(each => labels[each] === value);
  return other === undefined ? undefined : { key: other, value };
}

function valuesOf(all: readonly Labels[]): Values {
  const found = new Map<string, Set<string>>();
  for (const labels of all)
    for (const [key, value] of Object.entries(labels)) getOrMake(found, key, () => new Set()).add(value);
  return found;
}
