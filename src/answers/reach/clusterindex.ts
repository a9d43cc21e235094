/** A cluster, indexed once for both families: its vocabulary, its pods' templates, and the owner of each address. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { contentText } from '../../lib/text/contenttext.ts';
import type { Address } from '../../model/address.ts';
import { addressOwners } from '../../model/addressowners.ts';
import {
  type Cluster,
  type ContainerPort,
  type Namespace,
  type Node,
  namespaceOf,
  type Pod,
} from '../../model/cluster.ts';
import { patternsOfPolicy, patternsOfRule } from '../../model/domainpeers.ts';
import type { Labelled, LabelSelector } from '../../model/labels.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import { comparePolicies, type NetworkPeer, type Policy, type Rule, rulesOf } from '../../model/policy.ts';
import {
  type Match,
  matchLabels,
  matchNamespace,
  type NamespaceSelector,
  type PodSelector,
} from '../../model/selector.ts';
import {
  type TunnelFinders,
  type TunnelLinks,
  tunnelFinders,
  tunnelNodeFinder,
} from '../../semantics/tunnelends.ts';
import { unknownPodFinders } from '../../semantics/unknownpods.ts';
import { nodeFinder } from '../../semantics/view.ts';
import { Bits } from './bits.ts';
import { denyNodes, type NodeSelection, nodeEnds } from './nodeends.ts';

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
  readonly templates: Templates;
  readonly selected: SelectedTemplates;
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

export function clusterIndexOf(
  cluster: Cluster,
  unknownPods: UnknownPods,
  imaginedPods: readonly ImaginedPod[],
  alongside: readonly Cluster[] = [cluster],
): ClusterIndex {
  const policies = [...cluster.policies.values()].sort(comparePolicies);
  const all = alongside.flatMap(each => [...each.policies.values()]);
  const vocabulary = vocabularyOf(all);
  const owners = addressOwners(cluster);
  const templates = new Templates(vocabulary);
  const templateOf = new Map<Pod, number>();
  for (const pod of new Set(owners.values()))
    templateOf.set(pod, templates.indexOf(pod, namespaceOf(cluster, pod.namespace)));
  const imagined = imaginedPods.map(pod => templates.indexOf(pod, pod.namespace));
  const selected = new SelectedTemplates(templates.all);
  const nodes = nodeEnds(cluster, owners, vocabulary);
  const { nodeDenyingUnknownPod, nodeOfUnknownPod } = unknownPodFinders(cluster, owners, unknownPods);
  const tunnels = tunnelFinders(cluster);
  const words = { vocabulary, names: nameClassesOf(all), templates, selected };
  return {
    cluster,
    unknownPods,
    alongside,
    policies,
    ...words,
    owners,
    templateOf,
    imagined,
    nodes,
    deniesNodes: denyNodes(alongside),
    nodeDenyingUnknownPod,
    nodeOfUnknownPod,
    nodeWith: nodeFinder(cluster, owners),
    tunnelNodeAt: tunnelNodeFinder(cluster, owners),
    tunnels,
    tunnelLinks: tunnels.linksOf(undefined),
  };
}

// Which templates a selector selects. Each selector is evaluated once, however many policies contain it.

/** `indeterminate` are those that are neither selected nor excluded for sure (N68); none of them is in `yes`. */
export interface Selected {
  readonly yes: Bits;
  readonly indeterminate: Bits;
}

class SelectedTemplates {
  readonly #templates: readonly Template[];
  readonly #known = new Map<string, Selected>();
  readonly #byNamespaces = new Map<string, Selected>();
  readonly #byLabels = new Map<string, Selected>();

  constructor(templates: readonly Template[]) {
    this.#templates = templates;
  }

  of(selector: PodSelector): Selected {
    const { namespaces, pods } = selector;
    return getOrMake(this.#known, `${contentText(namespaces)}${contentText(pods)}`, () =>
      both(this.#inNamespaces(namespaces), this.#withLabels(pods)),
    );
  }

  #inNamespaces(selector: NamespaceSelector): Selected {
    return getOrMake(this.#byNamespaces, contentText(selector), () => {
      const asked = new Map<string, Match>();
      return this.#each(({ namespace, namespaceText }) =>
        getOrMake(asked, namespaceText, () => matchNamespace(selector, namespace.name, namespace)),
      );
    });
  }

  #withLabels(selector: LabelSelector): Selected {
    return getOrMake(this.#byLabels, contentText(selector), () =>
      this.#each(template => matchLabels(selector, template)),
    );
  }

  #each(match: (template: Template) => Match): Selected {
    const { length } = this.#templates;
    const [yes, indeterminate] = [new Bits(length), new Bits(length)];
    for (const [i, template] of this.#templates.entries()) {
      const found = match(template);
      if (found === 'yes') yes.add(i);
      else if (found === 'unknown') indeterminate.add(i);
    }
    return { yes, indeterminate };
  }
}

/** Selected by both; indeterminate where neither excludes it and one of them is indeterminate. */
function both(a: Selected, b: Selected): Selected {
  const yes = a.yes.and(b.yes);
  return { yes, indeterminate: a.yes.or(a.indeterminate).and(b.yes.or(b.indeterminate)).minus(yes) };
}

/** The properties of a pod that policies can select by. Pods with the same properties share one template. */
interface Template extends Labelled {
  readonly namespace: Namespace;
  /** A text that is equal for the same namespace with the same labels. */
  readonly namespaceText: string;
  /** The ports whose names occur in policies, each once. */
  readonly ports: readonly ContainerPort[];
  /** A text that is equal for templates with the same ports. */
  readonly portsText: string;
}

/** A pod as its owner describes it, whether there is one or not. */
interface PodLike extends Labelled {
  readonly ports: readonly ContainerPort[];
}

class Templates {
  readonly all: Template[] = [];
  readonly #byText = new Map<string, number>();
  readonly #namespaceTexts = new Map<Namespace, string>();
  readonly #vocabulary: Vocabulary;

  constructor(vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary;
  }

  /** The index of the template of a pod. */
  indexOf(pod: PodLike, namespace: Namespace): number {
    const { labelKeys, portNames } = this.#vocabulary;
    const labels = Object.entries(pod.labels).filter(([key]) => labelKeys.has(key));
    const portsText = portsTextOf(pod.ports.filter(({ name }) => portNames.has(name)));
    const namespaceText = getOrMake(this.#namespaceTexts, namespace, () => textOfNamespace(namespace));
    const text = JSON.stringify([namespaceText, labels.sort(), pod.partial, portsText]);
    const known = this.#byText.get(text);
    if (known !== undefined) return known;
    const partial = pod.partial && { partial: pod.partial };
    const ports = JSON.parse(portsText) as ContainerPort[];
    this.#byText.set(text, this.all.length);
    const template = { namespace, namespaceText, labels: Object.fromEntries(labels), ...partial };
    return this.all.push({ ...template, ports, portsText }) - 1;
  }
}

function portsTextOf(ports: readonly ContainerPort[]): string {
  const texts = ports.map(({ name, protocol, port }) => JSON.stringify({ name, protocol, port }));
  return `[${[...new Set(texts)].sort()}]`;
}

/** A namespace that is imagined may have the name of one of which the labels are not known. */
function textOfNamespace({ name, labels, partial }: Namespace): string {
  return JSON.stringify([name, Object.entries(labels).sort(), partial]);
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

// Names of the DNS as policies tell them apart. A name is meant by itself and by each wildcard above it, so the
// narrowest pattern that means it says which others do, too:
//
//     *.io, *.kubernetes.io, kubernetes.io       www.kubernetes.io: the first two    kubernetes.io: the first and the last
//
// Those that the same rules mean are one class, however many patterns they are written in.

interface NameClass {
  /** The narrowest patterns of its names, as policies write them. */
  readonly patterns: readonly string[];
  /** All patterns that match a name of the first of these: rules treat it and the others alike. */
  readonly meaning: ReadonlySet<string>;
}

/** Name classes of several clusters are made together, so that they can be compared. */
function nameClassesOf(policies: Iterable<Policy>): NameClass[] {
  const rules = rulesByPattern(policies);
  const found = new Map<string, NameClass & { patterns: string[] }>();
  for (const pattern of [...rules.keys()].sort()) {
    const meaning = new Set(meaningOf(pattern, rules));
    const key = [...new Set([...meaning].flatMap(each => rules.get(each)!))].sort().join();
    getOrMake(found, key, () => ({ patterns: [], meaning })).patterns.push(pattern);
  }
  return [...found.values()];
}

/** Whether a policy's egress has a rule by one of these patterns. */
export function hasRuleByName(policy: Policy, meaning: ReadonlySet<string>): boolean {
  return patternsOfPolicy(policy).some(pattern => meaning.has(pattern));
}

/** The numbers of the rules that have each. */
function rulesByPattern(policies: Iterable<Policy>): Map<string, number[]> {
  const found = new Map<string, number[]>();
  let number = 0;
  for (const { egress = [] } of policies)
    for (const rule of egress) {
      for (const pattern of new Set(patternsOfRule(rule))) getOrMake(found, pattern, () => []).push(number);
      number++;
    }
  return found;
}

/** Itself, and the wildcards above it. */
function meaningOf(pattern: string, all: ReadonlyMap<string, unknown>): string[] {
  const name = pattern.replace(/^\*\./, '');
  const above = [...name.matchAll(/\./g)].map(({ index }) => `*${name.slice(index)}`);
  return [pattern, ...above.filter(wildcard => all.has(wildcard))];
}
