/** The addresses of nodes, and which words of policies mean each because it is a node's (C31, N75, C59). */
import { type Address, type Family, familyOf } from '../../model/address.ts';
import { type Cluster, internalIpsOf, isNodeItself, type Node, type Pod } from '../../model/cluster.ts';
import type { LabelSelector } from '../../model/labels.ts';
import { type NetworkPeer, rulesOf } from '../../model/policy.ts';
import { matchesLabels } from '../../model/selector.ts';
import { tunnelNodes, unlistedAddresses } from '../../model/tunneladdresses.ts';
import { contains } from '../../semantics/match.ts';
import { nodesFinder, tunnelNodeFinder } from '../../semantics/tunnelends.ts';

/** The words of policies, by their text. */
interface Vocabulary {
  readonly nodes: ReadonlyMap<string, LabelSelector>;
  readonly networks: ReadonlyMap<string, NetworkPeer>;
}

/** What means an address because it is a node's, by the index in the vocabulary. */
export interface NodeMeaning {
  readonly nodeSelectors: readonly number[];
  /** Networks that do not contain the address, but an InternalIP of the node. */
  readonly networks: readonly number[];
}

export interface NodeSelection {
  /** In rules that accept: where the node says that it is (C31, N75). */
  readonly accepted: NodeMeaning;
  /** In rules that deny or pass: at every address of the node (C59). */
  readonly denied: NodeMeaning;
  /** No node says that it has the address, which may be nobody's. */
  readonly isGuess: boolean;
}

/** Nodes by address; if several nodes have one address, the selectors of all of them match it. */
export function nodeEnds(
  cluster: Cluster,
  owners: ReadonlyMap<Address, Pod>,
  vocabulary: Vocabulary,
): Map<Address, NodeSelection> {
  const [nodesAt, tunnelNodeAt] = [nodesFinder(cluster, owners), tunnelNodeFinder(cluster, owners)];
  const wordsOf = new Map([...cluster.nodes.values()].map(node => [node, new NodeWords(node, vocabulary)]));
  const meaningOf = (nodes: readonly Node[], entered: readonly Node[], address: Address): NodeMeaning => ({
    nodeSelectors: union(nodes.map(node => wordsOf.get(node)!.selectors)),
    networks: union(entered.map(node => wordsOf.get(node)!.networks[familyOf(address)])),
  });
  const found = new Map<Address, NodeSelection>();
  for (const address of nodeAddresses(cluster)) {
    const [all, tunnel] = [nodesAt(address), tunnelNodeAt(address)];
    const listed = all.filter(node => node.addresses.includes(address) || node === tunnel);
    found.set(address, {
      accepted: meaningOf(listed, tunnel === undefined ? [] : [tunnel], address),
      denied: meaningOf(all, all, address),
      isGuess: listed.length === 0 && !all.some(node => isNodeItself(node, address)),
    });
  }
  return found;
}

/** Whether a rule denies or passes a node, and so means addresses that its status does not have (C59). */
export function denyNodes(clusters: readonly Cluster[]): boolean {
  const rules = clusters.flatMap(({ policies }) => [...policies.values()].flatMap(rulesOf));
  const peers = rules.flatMap(rule => (rule.action === 'accept' || rule.peers === 'any' ? [] : rule.peers));
  const nodes = clusters.flatMap(cluster => [...cluster.nodes.values()]);
  return peers.some(
    peer =>
      (peer.kind === 'nodes' && nodes.some(({ labels }) => matchesLabels(peer.selector, labels))) ||
      (peer.kind === 'network' &&
        nodes.some(node => internalIpsOf(node).some(address => contains(peer, address)))),
  );
}

function nodeAddresses({ nodes }: Cluster): Set<Address> {
  const all = [...nodes.values()];
  return new Set([
    ...all.flatMap(node => [...node.addresses, ...unlistedAddresses(node)]),
    ...tunnelNodes(all).keys(),
  ]);
}

function union(lists: readonly (readonly number[])[]): readonly number[] {
  const [first, ...others] = lists;
  return others.length === 0 ? (first ?? []) : [...new Set(lists.flat())].sort();
}

/** The words of policies that mean a node, by their index. */
class NodeWords {
  readonly selectors: readonly number[];
  /** By family, the networks that contain an InternalIP of the node. */
  readonly networks: Readonly<Record<Family, readonly number[]>>;

  constructor(node: Node, { nodes, networks }: Vocabulary) {
    this.selectors = [...nodes.values()].flatMap((selector, i) =>
      matchesLabels(selector, node.labels) ? [i] : [],
    );
    const within = (family: Family) => {
      const internalIps = internalIpsOf(node).filter(ip => familyOf(ip) === family);
      return [...networks.values()].flatMap((network, i) =>
        internalIps.some(ip => contains(network, ip)) ? [i] : [],
      );
    };
    this.networks = { ip: within('ip'), ip6: within('ip6') };
  }
}
