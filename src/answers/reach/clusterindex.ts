/** A cluster, indexed once for both families: its vocabulary, its pods' templates, and the owner of each address. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { isSameList } from '../../lib/collections/samelist.ts';
import { contentText } from '../../lib/text/contenttext.ts';
import type { Address } from '../../model/address.ts';
import { addressOwners } from '../../model/addressowners.ts';
import { type Cluster, type Namespace, type Node, namespaceOf, type Pod } from '../../model/cluster.ts';
import { effectIfUncertain } from '../../model/failclosed.ts';
import type { LabelSelector } from '../../model/labels.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import { comparePolicies, type NetworkPeer, type Policy, type Rule, rulesOf } from '../../model/policy.ts';
import type { PodSelector } from '../../model/selector.ts';
import {
  type TunnelFinders,
  type TunnelLinks,
  tunnelFinders,
  tunnelNodeFinder,
} from '../../semantics/tunnelends.ts';
import { unknownPodFinders } from '../../semantics/unknownpods.ts';
import { nodeFinder } from '../../semantics/view.ts';
import { type NameClass, nameClassesOf } from './nameclasses.ts';
import { denyNodes, type NodeSelection, nodeEnds } from './nodeends.ts';
import { type PodLike, SelectedTemplates, Templates } from './templates.ts';

/** A pod that does not exist: of a workload without pods, or one that may be created. */
export interface ImaginedPod extends PodLike {
  readonly namespace: Namespace;
}

export interface ClusterIndex {
  readonly cluster: Cluster;
  readonly unknownPods: UnknownPods;
  /** The clusters that are compared, with this one: they share one vocabulary. */
  readonly alongside: readonly Cluster[];
  /** The policies, in order of precedence. */
  readonly policies: readonly Policy[];
  readonly vocabulary: Vocabulary;
  /** The classes of DNS names in the policies of all these clusters. */
  readonly names: readonly NameClass[];
  readonly imaginedPods: readonly ImaginedPod[];
  readonly templates: Templates;
  readonly selected: SelectedTemplates;
  /** By template the policies on it; the same list as before where they are the same. */
  readonly policiesOf: readonly (readonly Policy[])[];
  readonly owners: ReadonlyMap<Address, Pod>;
  /** The template of each pod that owns an address. */
  readonly templateOf: ReadonlyMap<Pod, number>;
  /** The template of each imagined pod, in their order. */
  readonly imagined: readonly number[];
  readonly nodes: ReadonlyMap<Address, NodeSelection>;
  /** Whether a policy of the compared clusters denies or passes nodes, and so means all of their addresses (C59). */
  readonly deniesNodes: boolean;
  /** The node in whose pod network an address is that no known pod has, where such are denied. */
  nodeDenyingUnknownPod(address: Address): Node | undefined;
  /** The node whose pod network has the unknown address, also if unknown pods are allowed. */
  nodeOfUnknownPod(address: Address): Node | undefined;
  /** The node that has an address, also if it only sends from it. */
  nodeWith(address: Address): Node | undefined;
  /** The node that sends from an address into its tunnel (N75). */
  tunnelNodeAt(address: Address): Node | undefined;
  readonly tunnels: TunnelFinders;
  /** The links of tunnels, taken to be the same on every node, as an overlay is. */
  readonly tunnelLinks: TunnelLinks;
}

/** What is the same in one of `before` is taken over from it. */
export function clusterIndexOf(
  cluster: Cluster,
  unknownPods: UnknownPods,
  imaginedPods: readonly ImaginedPod[],
  alongside: readonly Cluster[] = [cluster],
  before: readonly ClusterIndex[] = [],
): ClusterIndex {
  const policies = [...cluster.policies.values()].sort(comparePolicies);
  const ground = { cluster, unknownPods, imaginedPods, alongside, ...wordsOf(alongside) };
  const known = before.find(each => isSameGround(each, ground)) ?? placesOf(ground);
  const policiesOf = policiesByTemplate(policies, known, before);
  return { ...known, cluster, alongside, policies, policiesOf };
}

/** All that does not depend on which policies there are, as long as they have the same words. */
function placesOf(ground: Ground): Omit<ClusterIndex, 'policies' | 'policiesOf'> {
  const { cluster, unknownPods, imaginedPods, vocabulary } = ground;
  const owners = addressOwners(cluster);
  const templates = new Templates(vocabulary);
  const templateOf = new Map<Pod, number>();
  for (const pod of new Set(owners.values()))
    templateOf.set(pod, templates.indexOf(pod, namespaceOf(cluster, pod.namespace)));
  const imagined = imaginedPods.map(pod => templates.indexOf(pod, pod.namespace));
  const { nodeDenyingUnknownPod, nodeOfUnknownPod } = unknownPodFinders(cluster, owners, unknownPods);
  const tunnels = tunnelFinders(cluster);
  return {
    ...ground,
    templates,
    selected: new SelectedTemplates(templates.all),
    owners,
    templateOf,
    imagined,
    nodes: nodeEnds(cluster, owners, vocabulary),
    nodeDenyingUnknownPod,
    nodeOfUnknownPod,
    nodeWith: nodeFinder(cluster, owners),
    tunnelNodeAt: tunnelNodeFinder(cluster, owners),
    tunnels,
    tunnelLinks: tunnels.linksOf(undefined),
  };
}

/** By what policies distinguish pods, nodes and addresses, and all pods, nodes and addresses. */
type Ground = Pick<
  ClusterIndex,
  'cluster' | 'unknownPods' | 'imaginedPods' | 'alongside' | 'vocabulary' | 'names' | 'deniesNodes'
>;

/** Whether the same ends follow from both, in the same order. */
function isSameGround(a: Ground, b: Ground): boolean {
  return (
    a.unknownPods === b.unknownPods &&
    a.alongside.length === b.alongside.length &&
    isSamePlace(a.cluster, b.cluster) &&
    a.alongside.every((each, i) => isSamePlace(each, b.alongside[i]!)) &&
    (a.vocabulary === b.vocabulary || textOfWords(a) === textOfWords(b)) &&
    areSamePods(a.imaginedPods, b.imaginedPods)
  );
}

function isSamePlace(a: Cluster, b: Cluster): boolean {
  return (
    a.seenBy === b.seenBy &&
    a.resolved === b.resolved &&
    isSameMap(a.pods, b.pods) &&
    isSameMap(a.namespaces, b.namespaces) &&
    isSameMap(a.nodes, b.nodes)
  );
}

/** The same objects in the same order. */
function isSameMap(a: ReadonlyMap<string, unknown>, b: ReadonlyMap<string, unknown>): boolean {
  if (a === b) return true;
  if (a.size !== b.size) return false;
  const others = b.entries();
  for (const [key, value] of a) {
    const [otherKey, other] = others.next().value!;
    if (key !== otherKey || value !== other) return false;
  }
  return true;
}

function textOfWords({ vocabulary, names, deniesNodes }: Ground): string {
  const { labelKeys, portNames, networks, nodes } = vocabulary;
  const classes = names.map(({ patterns, meaning }) => [patterns, [...meaning]]);
  const sets = [[...labelKeys].sort(), [...portNames].sort(), [...networks.keys()], [...nodes.keys()]];
  return JSON.stringify([sets, classes, deniesNodes]);
}

/** The same kinds of pods have the same objects, which are compared in much less time than their texts. */
function areSamePods(some: readonly ImaginedPod[], others: readonly ImaginedPod[]): boolean {
  if (some.length !== others.length) return false;
  return some.every((a, i) => {
    const b = others[i]!;
    const isSame = a.namespace === b.namespace && a.labels === b.labels && a.ports === b.ports;
    return (isSame && a.partial === b.partial) || JSON.stringify(a) === JSON.stringify(b);
  });
}

const WORDS = new WeakMap<readonly Cluster[], Pick<ClusterIndex, 'vocabulary' | 'names' | 'deniesNodes'>>();

/** Both sides of a comparison have the same words. */
function wordsOf(alongside: readonly Cluster[]) {
  return getOrMake(WORDS, alongside, () => {
    const all = alongside.flatMap(each => [...each.policies.values()]);
    return { vocabulary: vocabularyOf(all), names: nameClassesOf(all), deniesNodes: denyNodes(alongside) };
  });
}

/**
 * The policies on each template, in order of precedence. Of policies that only may select it, the part that applies
 * then (N68).
 */
function policiesByTemplate(
  policies: readonly Policy[],
  { selected, templates }: Pick<ClusterIndex, 'selected' | 'templates'>,
  before: readonly ClusterIndex[],
): readonly (readonly Policy[])[] {
  const found: Policy[][] = templates.all.map(() => []);
  for (const policy of policies) {
    const { yes, indeterminate } = selected.of(policy.subject);
    for (const template of yes) found[template]!.push(policy);
    for (const template of indeterminate) found[template]!.push(effectIfUncertain(policy));
  }
  const known = before.filter(each => each.templates === templates);
  return found.map((all, template) => {
    const lists = known.map(({ policiesOf }) => policiesOf[template]!);
    return lists.find(list => isSameList(list, all)) ?? all;
  });
}

/** The names of ports in rules: only these have to be known of a pod. */
export function portNamesOf(clusters: readonly Cluster[]): ReadonlySet<string> {
  return vocabularyOf(clusters.flatMap(({ policies }) => [...policies.values()])).portNames;
}

/** The labels, ports and networks by which the policies of a cluster distinguish pods, nodes and addresses. */
interface Vocabulary {
  /** Keys of pod labels. */
  readonly labelKeys: ReadonlySet<string>;
  readonly portNames: ReadonlySet<string>;
  /** The networks, each by its text from `contentText`, in the order of their indexes. */
  readonly networks: ReadonlyMap<string, NetworkPeer>;
  readonly nodes: ReadonlyMap<string, LabelSelector>;
}

function vocabularyOf(policies: Iterable<Policy>): Vocabulary {
  const words = {
    labelKeys: new Set<string>(),
    portNames: new Set<string>(),
    networks: new Map<string, NetworkPeer>(),
    nodes: new Map<string, LabelSelector>(),
  };
  for (const policy of policies) {
    addKeys(words.labelKeys, policy.subject);
    for (const rule of rulesOf(policy)) addRule(words, rule);
  }
  return words;
}

interface Words {
  readonly labelKeys: Set<string>;
  readonly portNames: Set<string>;
  readonly networks: Map<string, NetworkPeer>;
  readonly nodes: Map<string, LabelSelector>;
}

function addRule(words: Words, { peers, ports }: Rule): void {
  if (ports !== 'any') for (const port of ports) if (port.kind === 'named') words.portNames.add(port.name);
  if (peers === 'any') return;
  for (const peer of peers) {
    if (peer.kind === 'pods') addKeys(words.labelKeys, peer.selector);
    else if (peer.kind === 'network') words.networks.set(contentText(peer), peer);
    else if (peer.kind === 'nodes') words.nodes.set(contentText(peer.selector), peer.selector);
  }
}

function addKeys(keys: Set<string>, { pods }: PodSelector): void {
  for (const { key } of pods.requirements) keys.add(key);
}
