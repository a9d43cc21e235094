/**
 * The least NetworkPolicies of a namespace that allow what was recorded of it: one that denies everything, and one for the pods
 * of each set of labels, with the peers and ports that they had.
 */

import { getOrMake } from '../../../lib/collections/getormake.ts';
import { type Address, addressBits, type Family, familyOf } from '../../../model/address.ts';
import {
  internalIpsOf,
  isNodeItself,
  NAMESPACE_NAME_LABEL,
  type Node,
  type Pod,
} from '../../../model/cluster.ts';
import { hasLabels, type Labels, labelTexts } from '../../../model/labels.ts';
import { DIRECTIONS, type Direction, type Protocol } from '../../../model/policy.ts';
import { isStableLabel, stableLabels } from '../../../model/stablelabels.ts';
import { tunnelNodes } from '../../../model/tunneladdresses.ts';
import { endNamer } from '../endname.ts';
import { type RecordedEnd, type RecordedFlow, type Recording, recordedFlowKey } from '../recording.ts';

/** The pods of one set of labels. */
interface Group {
  readonly labels: Labels;
  readonly ingress: Rules;
  readonly egress: Rules;
}

export interface Suggestion {
  /** The policies as objects for kubectl. */
  readonly objects: readonly object[];
  /** What a person would write beside an address: the names that DNS told for it, or its node; by the CIDR of a peer. */
  readonly remarks: ReadonlyMap<string, string>;
  /** Pods that have no label which the next pod of their workload has too: no selector means just them. */
  readonly unselectable: readonly Pod[];
}

export function suggestPolicies(recording: Recording, namespace: string): Suggestion {
  const sets = new LabelSets(recording);
  const tunnels = tunnelNodes(recording.nodes.values());
  const remarks = new Remarks(endNamer(recording));
  const unselectable = new Map<string, Pod>();
  const groups = new Map<string, Group>();
  const isDenied = denials(recording);
  const ruleOf = (pod: Pod, direction: Direction): Rules => {
    const labels = stableLabels(pod.labels);
    const group = groups.get(labelText(labels)) ?? { labels, ingress: new Rules(), egress: new Rules() };
    groups.set(labelText(labels), group);
    return group[direction];
  };
  for (const flow of recording.flows) {
    const { protocol, port } = flow;
    if (!isAllowable(flow) || needsNothing(flow, recording, tunnels)) continue;
    const put = (own: RecordedEnd, peer: RecordedEnd, direction: Direction) => {
      if (own.pod?.namespace !== namespace || isDenied(flow, direction)) return;
      const nameless = [own, peer].flatMap(({ pod }) => (pod && !isSelectable(pod) ? pod : []));
      for (const pod of nameless) unselectable.set(pod.key, pod);
      if (nameless.length > 0) return;
      const rules = ruleOf(own.pod, direction);
      if (direction === 'egress' && isOfDns(peer, port!)) return rules.addDns(namespace);
      const object = peerOf(peer, namespace, sets, tunnels);
      rules.add(object, protocol as Protocol, port!);
      remarks.add(object, peer, direction === 'egress' ? flow.names : undefined);
    };
    put(flow.to, flow.from, 'ingress');
    put(flow.from, flow.to, 'egress');
  }
  return {
    objects: policiesOf(namespace, groups, sets),
    remarks: remarks.texts(),
    unselectable: [...unselectable.values()],
  };
}

/** Many namespaces have a policy of their own called default-deny, which `kubectl apply` would change. */
const ISOLATION = 'suggested-default-deny';

function policiesOf(namespace: string, groups: ReadonlyMap<string, Group>, sets: LabelSets): object[] {
  const names = new Map([[ISOLATION, 1]]);
  const sorted = [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group);
  return [
    policy(namespace, ISOLATION, {}, [], []),
    ...sorted.map(({ labels, ingress, egress }) =>
      policy(
        namespace,
        nameFor(labels, names),
        sets.selector(namespace, labels),
        ingress.rules(),
        egress.rules(),
      ),
    ),
  ];
}

/**
 * Whether the node of an end denied such a connection while it did not see it pass. Where that node recorded nothing of it, the
 * other end's node saw it, and both ends get their rule.
 */
function denials({ flows }: Recording): (flow: RecordedFlow, direction: Direction) => boolean {
  const denied = new Set(
    flows.flatMap(flow =>
      DIRECTIONS.filter(direction => flow.was === 'deny' && flow[direction] > 0).map(
        direction => `${direction} ${recordedFlowKey({ ...flow, was: 'allow' })}`,
      ),
    ),
  );
  return (flow, direction) =>
    flow[direction] === 0 && denied.size > 0 && denied.has(`${direction} ${recordedFlowKey(flow)}`);
}

/** Without a label that lasts, a selector could only list the labels that others have, and would mean whoever has none. */
function isSelectable({ labels }: Pod): boolean {
  return Object.keys(labels).some(isStableLabel);
}

/** NetworkPolicy can allow protocols with ports by port, and all other protocols only together with all ports. */
function isAllowable({ was, protocol, port, from, to }: RecordedFlow): boolean {
  const isKnown = ({ pod }: RecordedEnd) => !pod?.partial;
  return was === 'allow' && hasPorts(protocol) && (port ?? 0) > 0 && isKnown(from) && isKnown(to);
}

function hasPorts(protocol: RecordedFlow['protocol']): boolean {
  return protocol === 'TCP' || protocol === 'UDP' || protocol === 'SCTP';
}

type Tunnels = ReadonlyMap<Address, Node>;

/** N40, N43: a pod always reaches itself, and its node always reaches it. */
function needsNothing(
  { from, to, viaService }: RecordedFlow,
  { nodes }: Recording,
  tunnels: Tunnels,
): boolean {
  if (from.pod !== undefined && from.pod.key === to.pod?.key) return !viaService;
  const node = to.pod && nodes.get(to.pod.node);
  if (from.pod !== undefined || node === undefined) return false;
  return isNodeItself(node, from.address) || tunnels.get(from.address) === node;
}

function peerOf(
  { address, pod }: RecordedEnd,
  namespace: string,
  sets: LabelSets,
  tunnels: Tunnels,
): PeerObject {
  if (pod === undefined) return blockOf(entrance(tunnels.get(address), familyOf(address)) ?? address);
  const podSelector = sets.selector(pod.namespace, stableLabels(pod.labels));
  return podsIn(pod.namespace, podSelector, namespace);
}

function podsIn(namespace: string, podSelector: object, own: string): PeerObject {
  if (namespace === own) return { podSelector };
  return { namespaceSelector: { matchLabels: { [NAMESPACE_NAME_LABEL]: namespace } }, podSelector };
}

const KUBE_DNS = { namespace: 'kube-system', label: 'k8s-app', value: 'kube-dns' };

/** The label by which the Service of every cluster's DNS selects its pods, whatever other labels they have. */
function isOfDns({ pod }: RecordedEnd, port: number): boolean {
  const { namespace, label, value } = KUBE_DNS;
  return port === 53 && pod?.namespace === namespace && pod.labels[label] === value;
}

function blockOf(address: Address): PeerObject {
  return { ipBlock: { cidr: `${address}/${addressBits(familyOf(address))}` } };
}

/** N75: the node's own address means its tunnel as well, and stays where it is if the node gets another pod network. */
function entrance(node: Node | undefined, family: Family): Address | undefined {
  return node && internalIpsOf(node).find(address => familyOf(address) === family);
}

function policy(
  namespace: string,
  name: string,
  podSelector: object,
  ingress: readonly RuleObject[],
  egress: readonly RuleObject[],
): object {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    // In words, so that `kubectl apply` puts it in force where a policy of this name was audited.
    metadata: { name, namespace, annotations: { 'sluice.dev/enforcement': 'enforce' } },
    spec: {
      podSelector,
      policyTypes: ['Ingress', 'Egress'],
      ...(ingress.length > 0 && { ingress: ingress.map(({ peers, ports }) => ({ from: peers, ports })) }),
      ...(egress.length > 0 && { egress: egress.map(({ peers, ports }) => ({ to: peers, ports })) }),
    },
  };
}

const NAMING = ['app.kubernetes.io/name', 'app', 'k8s-app', 'name'];

/** `allow-web`; of several that would have one name, each but the first has a number. `taken`: with the last number of each. */
function nameFor(labels: Labels, taken: Map<string, number>): string {
  const label = NAMING.map(key => (Object.hasOwn(labels, key) ? labels[key]! : '')).find(
    value => value !== '',
  );
  const word = (label ?? Object.values(labels)[0] ?? 'unlabelled').toLowerCase().replace(/[^a-z0-9]+/g, '-');
  const base = `allow-${word.replace(/^-+|-+$/g, '').slice(0, 200) || 'pods'}`;
  for (let n = taken.get(base) ?? 1; ; n++) {
    const name = n === 1 ? base : `${base}-${n}`;
    if (taken.has(name)) continue;
    taken.set(name, 1).set(base, n);
    return name;
  }
}

/** Rules of a NetworkPolicy for peers and the ports of each: peers that have the same ports share a rule. */
type PeerObject = Readonly<Record<string, object>>;

interface PortObject {
  readonly protocol: Protocol;
  readonly port: number;
  readonly endPort?: number;
}

interface RuleObject {
  readonly peers: readonly PeerObject[];
  readonly ports: readonly PortObject[];
}

class Rules {
  readonly #peers = new Map<string, { readonly peer: PeerObject; readonly ports: Set<string> }>();

  add(peer: PeerObject, protocol: Protocol, port: number): void {
    const key = JSON.stringify(peer);
    getOrMake(this.#peers, key, () => ({ peer, ports: new Set() })).ports.add(`${protocol} ${port}`);
  }

  /** Over both protocols: who asks by UDP asks again by TCP where the answer is too long. */
  addDns(own: string): void {
    const { namespace, label, value } = KUBE_DNS;
    const peer = podsIn(namespace, { matchLabels: { [label]: value } }, own);
    for (const protocol of ['UDP', 'TCP'] as const) this.add(peer, protocol, 53);
  }

  /** The rules in a fixed order, whatever the order of the connections. */
  rules(): RuleObject[] {
    const sorted = [...this.#peers].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);
    const byPorts = new Map<string, typeof sorted>();
    for (const each of sorted) {
      const key = JSON.stringify(portsOf(each.ports)); // grouped by hand: Node 20 has no function for it
      getOrMake(byPorts, key, () => []).push(each);
    }
    return [...byPorts.values()].map(peers => ({
      peers: peers.map(({ peer }) => peer),
      ports: portsOf(peers[0]!.ports),
    }));
  }
}

/** Neighbours as ranges. */
function portsOf(texts: ReadonlySet<string>): PortObject[] {
  const ports = [...texts]
    .map(text => text.split(' ') as [Protocol, string])
    .map(([protocol, port]) => ({ protocol, port: Number(port) }))
    .sort((a, b) => (a.protocol < b.protocol ? -1 : a.protocol > b.protocol ? 1 : a.port - b.port));
  const runs: { protocol: Protocol; port: number; last: number }[] = [];
  for (const { protocol, port } of ports) {
    const run = runs.at(-1);
    if (run?.protocol === protocol && run.last + 1 === port) run.last = port;
    else runs.push({ protocol, port, last: port });
  }
  return runs.map(({ protocol, port, last }) => ({
    protocol,
    port,
    ...(last > port && { endPort: last }),
  }));
}

// What is known of addresses, for comments.

const MOST_NAMES = 3;

class Remarks {
  readonly #names = new Map<string, Set<string>>();
  readonly #nameOf: (end: RecordedEnd) => string;

  constructor(nameOf: (end: RecordedEnd) => string) {
    this.#nameOf = nameOf;
  }

  add({ ipBlock }: PeerObject, end: RecordedEnd, told: readonly string[] = []): void {
    if (ipBlock === undefined) return;
    const node = this.#nameOf(end);
    const names = node === end.address ? told.filter(isName) : [node.replace('/', ' ')];
    const known = getOrMake(this.#names, (ipBlock as { cidr: string }).cidr, () => new Set());
    for (const name of names) known.add(name);
  }

  texts(): ReadonlyMap<string, string> {
    const named = [...this.#names].filter(([, names]) => names.size > 0);
    return new Map(named.map(([cidr, names]) => [cidr, listText([...names].sort())]));
  }
}

/** A file may hold any text: none that would end the comment gets into it. */
function isName(text: string): boolean {
  return /^[-\w.*]+$/.test(text);
}

function listText(names: readonly string[]): string {
  const more = names.length - MOST_NAMES;
  return `${names.slice(0, MOST_NAMES).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

// Selectors that select the pods with one set of labels, and no other recorded pod.

export interface SelectorObject {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly { readonly key: string; readonly operator: 'DoesNotExist' }[];
}

/** A text that is equal for equal labels. */
function labelText(labels: Labels): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The sets of one namespace. */
interface OfNamespace {
  readonly sets: Map<string, Labels>;
  /** Labels that contain a label, by its key and value. */
  readonly having: Map<string, Labels[]>;
  /** The selectors found, by set of labels. */
  readonly selectors: Map<string, SelectorObject>;
}

export class LabelSets {
  readonly #namespaces = new Map<string, OfNamespace>();

  /** Takes all pods of the recording, also those without connections. */
  constructor({ flows, silent }: Pick<Recording, 'flows' | 'silent'>) {
    for (const { namespace, labels } of silent) add(this.#of(namespace), labels);
    for (const { from, to } of flows)
      for (const { pod } of [from, to])
        if (pod !== undefined) add(this.#of(pod.namespace), stableLabels(pod.labels));
  }

  /**
   * Labels that another set has in addition to all of these must be absent: otherwise the selector would select that
   * set, too.
   */
  selector(namespace: string, labels: Labels): SelectorObject {
    const of = this.#of(namespace);
    const text = labelText(labels);
    return getOrMake(of.selectors, text, () => selectorAmong(candidates(of, labels), labels));
  }

  #of(namespace: string): OfNamespace {
    return getOrMake(this.#namespaces, namespace, () => ({
      sets: new Map(),
      having: new Map(),
      selectors: new Map(),
    }));
  }
}

function add({ sets, having }: OfNamespace, labels: Labels): void {
  const text = labelText(labels);
  if (sets.has(text)) return;
  sets.set(text, labels);
  for (const pair of labelTexts(labels)) {
    getOrMake(having, pair, () => []).push(labels);
  }
}

/** Some of the sets, among them all that have these labels: those with the one that fewest have. */
function candidates({ sets, having }: OfNamespace, labels: Labels): Iterable<Labels> {
  const lists = labelTexts(labels).map(pair => having.get(pair) ?? []);
  if (lists.length === 0) return sets.values();
  return lists.reduce((fewest, each) => (each.length < fewest.length ? each : fewest));
}

function selectorAmong(others: Iterable<Labels>, labels: Labels): SelectorObject {
  const missing = new Set<string>();
  for (const other of others) {
    if (!hasLabels(other, labels)) continue;
    const more = Object.keys(other).filter(key => !Object.hasOwn(labels, key));
    if (more.length > 0 && !more.some(key => missing.has(key))) missing.add(more.sort()[0]!);
  }
  const matchExpressions = [...missing].sort().map(key => ({ key, operator: 'DoesNotExist' }) as const);
  return {
    ...(Object.keys(labels).length > 0 && { matchLabels: labels }),
    ...(matchExpressions.length > 0 && { matchExpressions }),
  };
}
