/** A cluster, prepared once for both families: its words, its pods' templates, and whom each address belongs to. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import type { Address } from '../../model/address.ts';
import { addressOwners } from '../../model/addressowners.ts';
import {
  addressesOfNode,
  type Cluster,
  type Namespace,
  type Node,
  namespaceOf,
  type Pod,
} from '../../model/cluster.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import { comparePolicies, type Policy } from '../../model/policy.ts';
import { matchesLabels } from '../../model/selector.ts';
import { type TunnelFinders, type TunnelLinks, tunnelFinders } from '../../semantics/tunnelends.ts';
import { unknownPodFinders } from '../../semantics/unknownpods.ts';
import { nodeFinder } from '../../semantics/view.ts';
import { type NameClass, nameClassesOf } from './nameclasses.ts';
import { SelectedTemplates } from './selected.ts';
import { type PodLike, Templates } from './template.ts';
import { type Vocabulary, vocabularyOf } from './vocabulary.ts';

/** A pod that is not there: of a workload that has none, or one that somebody may make. */
export interface ImaginedPod extends PodLike {
  readonly namespace: Namespace;
}

export interface Landscape {
  readonly cluster: Cluster;
  readonly unknownPods: UnknownPods;
  /** The clusters that are told apart together, this one among them: their words are those of all. */
  readonly alongside: readonly Cluster[];
  /** In order of precedence. */
  readonly policies: readonly Policy[];
  readonly vocabulary: Vocabulary;
  /** Of the policies of all these clusters. */
  readonly names: readonly NameClass[];
  readonly templates: Templates;
  readonly selected: SelectedTemplates;
  readonly owners: ReadonlyMap<Address, Pod>;
  /** The template of each pod that owns an address. */
  readonly templateOf: ReadonlyMap<Pod, number>;
  /** Of the imagined pods, in their order. */
  readonly imagined: readonly number[];
  readonly nodes: ReadonlyMap<Address, NodeSelection>;
  /** The node in whose pod network an address is that no known pod has, where such are denied. */
  unknownPodOf(address: Address): Node | undefined;
  /** The same, whatever becomes of such. */
  strangerOf(address: Address): Node | undefined;
  nodeWith(address: Address): Node | undefined;
  readonly tunnels: TunnelFinders;
  /** Of every node, as far as anybody knows: an overlay is the same on all of them. */
  readonly tunnelLinks: TunnelLinks;
}

export interface NodeSelection {
  /** The node selectors that mean it, by their index in the vocabulary (C31: by status.addresses alone). */
  readonly nodeSelectors: readonly number[];
}

export function landscapeOf(
  cluster: Cluster,
  unknownPods: UnknownPods,
  imaginedPods: readonly ImaginedPod[],
  alongside: readonly Cluster[] = [cluster],
): Landscape {
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
  const nodes = nodeEnds(cluster, vocabulary);
  const { unknownPodOf, strangerOf } = unknownPodFinders(cluster, owners, unknownPods);
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
    unknownPodOf,
    strangerOf,
    nodeWith: nodeFinder(cluster),
    tunnels,
    tunnelLinks: tunnels.linksOf(undefined),
  };
}

/** By address; of one that several nodes have, the selectors of all mean it. */
function nodeEnds({ nodes }: Cluster, vocabulary: Vocabulary): Map<Address, NodeSelection> {
  const selectors = [...vocabulary.nodes.values()];
  const meant = new Map<Address, Set<number>>();
  for (const node of nodes.values()) {
    const own = selectors.flatMap((selector, i) => (matchesLabels(selector, node.labels) ? [i] : []));
    for (const address of addressesOfNode(node)) {
      const found = getOrMake(meant, address, () => new Set());
      if (node.addresses.includes(address)) for (const selector of own) found.add(selector);
    }
  }
  return new Map([...meant].map(([address, found]) => [address, { nodeSelectors: [...found].sort() }]));
}
