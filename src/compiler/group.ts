/**
 * Peer groups: the addresses of selected pods and nodes as one hash set in the kernel, which all rules with the same
 * peers share. A pod that comes or goes costs one element for each group that contains it.
 */
import { type Address, type Cidr, cidrText, type Family, familyOf } from '../model/address.ts';
import type { Node } from '../model/cluster.ts';
import type { Peer } from '../model/policy.ts';
import {
  EVERY_NAMESPACE,
  EVERYTHING,
  type LabelSelector,
  matchesLabels,
  type PodSelector,
  podSelectorText,
  type Requirement,
  selectorText,
  selectsPod,
} from '../model/selector.ts';
import { SET_SIZE } from '../names/control.ts';
import { addressType } from '../nft/match.ts';
import { type ElementKey, type Elements, type ElementValue, MEMBER, type SetSpec } from '../nft/ruleset.ts';
import type { IndexedPod, PodIndex } from './live/pods/podindex.ts';
import { endpointsText, type NamedPortPeers, namedPortKeys } from './namedportpeers.ts';
import { clip } from './names.ts';
import type { TunnelNodes } from './tunnelnodes.ts';

export type MemberPeer =
  | Extract<Peer, { kind: 'pods' }>
  /** The addresses of nodes in their status and of their tunnels, or everywhere (C59). */
  | { readonly kind: 'nodes'; readonly selector: LabelSelector; readonly everywhere?: true }
  /**
   * The tunnel addresses of the nodes of which an InternalIP is in the network, and not in the exceptions (N75), or all of
   * their addresses.
   */
  | {
      readonly kind: 'nodes in';
      readonly cidr: Cidr;
      readonly except: readonly Cidr[];
      readonly everywhere?: true;
    };

export type Group =
  /** Addresses of pods and nodes that any of the peers selects. */
  | { readonly kind: 'peers'; readonly peers: readonly MemberPeer[] }
  /** Addresses of the pods in the scope that none of the selectors selects. */
  | { readonly kind: 'others'; readonly scope: PodSelector; readonly selectors: readonly PodSelector[] }
  /** `address . protocol . port` of pods that have a container port of a name. */
  | { readonly kind: 'named'; readonly peers: readonly NamedPortPeers[] }
  /** `pod . address` of each address that a pod received in a DNS answer for one of these names (namespeers.ts). */
  | { readonly kind: 'names'; readonly patterns: readonly string[] };

/** A group under the name that it has in both tables. */
export interface NamedGroup {
  readonly name: string;
  readonly group: Group;
}

function namesSet(name: string, patterns: readonly string[], family: Family): SetSpec {
  const address = addressType(family);
  const comment = clip(groupText({ kind: 'names', patterns }));
  return {
    name,
    key: [address, address],
    verdicts: false,
    interval: false,
    dynamic: { size: SET_SIZE },
    comment,
  };
}

export function groupSet({ name, group }: NamedGroup, family: Family): SetSpec {
  const address = addressType(family);
  if (group.kind === 'names') return namesSet(name, group.patterns, family);
  return {
    name,
    key: group.kind === 'named' ? [address, 'inet_proto', 'inet_service'] : [address],
    verdicts: false,
    interval: false,
    comment: clip(groupText(group)),
  };
}

// The comment of a set has no room for the names of more peers.
const MOST_NAMED = 20;

function groupText(group: Group): string {
  switch (group.kind) {
    case 'peers':
      return group.peers.slice(0, MOST_NAMED).map(memberText).join('; ');
    case 'others': {
      const selected = group.selectors.slice(0, MOST_NAMED).map(podSelectorText).join('; ');
      return `${podSelectorText(group.scope)} but ${selected}`;
    }
    case 'named':
      return group.peers.slice(0, MOST_NAMED).map(endpointsText).join('; ');
    case 'names':
      return group.patterns.slice(0, MOST_NAMED).join(' ');
  }
}

/** In the comments of sets for rules that deny or pass nodes (C59). */
export const EVERYWHERE = ' at any address';

function memberText(peer: MemberPeer): string {
  switch (peer.kind) {
    case 'pods':
      return podSelectorText(peer.selector);
    case 'nodes':
      return `nodes ${selectorText(peer.selector)}${peer.everywhere ? EVERYWHERE : ''}`;
    case 'nodes in': {
      const [network, ...except] = [peer.cidr, ...peer.except].map(cidrText);
      const text = `nodes in ${network}${except.length > 0 ? ` except ${except.join(' ')}` : ''}`;
      return peer.everywhere ? `${text}${EVERYWHERE}` : `tunnels of ${text}`;
    }
  }
}

/** Every pod that the group may contain is selected by one of these selectors. */
export function podSelectorsOf(group: Group): readonly PodSelector[] {
  switch (group.kind) {
    case 'peers':
      return group.peers.flatMap(peer => (peer.kind === 'pods' ? [peer.selector] : []));
    case 'others':
      return [group.scope];
    case 'named':
      return group.peers.flatMap(({ selectors, networks }) =>
        networks.length > 0 ? [EVERY_POD] : selectors,
      );
    case 'names':
      return [];
  }
}

/**
 * All selectors of the group that look at labels. A pod for which none of them changes its answer is a member as
 * before.
 */
export function labelSelectorsOf(group: Group): readonly PodSelector[] {
  switch (group.kind) {
    case 'others':
      return [group.scope, ...group.selectors];
    case 'named':
      return group.peers.flatMap(({ selectors }) => selectors);
    default:
      return podSelectorsOf(group);
  }
}

/** The peers of the group that mean nodes. */
export function nodePeersOf(group: Group): readonly NodePeer[] {
  return group.kind === 'peers' ? group.peers.filter(peer => peer.kind !== 'pods') : [];
}

export type NodePeer = Exclude<MemberPeer, { kind: 'pods' }>;

/**
 * The elements of a node in the group's sets. N22: a peer for a network has none of the other family. A node that joins
 * is compared with every group of nodes, and is in few of them, so nothing is made for the others.
 */
export function nodeKeys(
  peers: readonly NodePeer[],
  node: Node,
  tunnels: TunnelNodes,
): readonly ElementKey[] {
  let keys = NO_KEYS;
  for (const peer of peers) {
    const found = keysOfPeer(peer, node, tunnels);
    if (found.length > 0) keys = [...new Set([...keys, ...found])];
  }
  return keys;
}

function keysOfPeer(peer: NodePeer, node: Node, tunnels: TunnelNodes): readonly ElementKey[] {
  if (peer.kind === 'nodes in')
    return peer.everywhere ? tunnels.everywhereWithin(peer, node) : tunnels.within(peer, node.name);
  if (!matchesLabels(peer.selector, node.labels)) return NO_KEYS;
  return peer.everywhere ? tunnels.everywhere(node) : [...node.addresses, ...tunnels.of(node.name)];
}

const NO_KEYS: readonly ElementKey[] = [];

/** The elements of a pod in the group's sets: for most groups the pod's own list of addresses. */
export function podKeys(group: Group, indexedPod: IndexedPod): readonly ElementKey[] {
  const { pod, namespace, addresses } = indexedPod;
  const selects = (selector: PodSelector) => selectsPod(selector, pod, namespace);
  switch (group.kind) {
    case 'peers':
      for (const peer of group.peers)
        if (peer.kind === 'pods' && selectsPod(peer.selector, pod, namespace)) return addresses;
      return NO_KEYS;
    case 'others':
      return selects(group.scope) && !group.selectors.some(selects) ? addresses : NO_KEYS;
    case 'named':
      return namedPortKeys(group.peers, indexedPod);
    case 'names': // Which pod received which answer is not part of the desired state.
      return NO_KEYS;
  }
}

export function groupElements(group: Group, family: Family, podIndex: PodIndex): Elements {
  const elements = new Map<ElementKey, ElementValue>();
  const add = (keys: readonly ElementKey[]) => {
    // A key begins with an address, which gives its family.
    for (const key of keys) if (familyOf(key as Address) === family) elements.set(key, MEMBER);
  };
  for (const selector of podSelectorsOf(group)) {
    for (const indexedPod of podIndex.select(selector)) {
      // A pod that one of the peers selects is a member of their union.
      const isMember = group.kind === 'peers';
      add(isMember ? indexedPod.addresses : podKeys(group, indexedPod));
    }
  }
  const nodePeers = nodePeersOf(group);
  if (nodePeers.length > 0)
    for (const node of podIndex.nodes()) add(nodeKeys(nodePeers, node, podIndex.tunnels));
  return elements;
}

/**
 * Peers that mean nearly all pods, by selectors that only exclude some. A set of all but a few pods would hold nearly
 * all pods, once for each such selector. So the excluded pods are a set, and all pods are another set, which all rules
 * share:
 *
 *     ip saddr @peers-… ip saddr != @others-… accept
 */
export const EVERY_POD: PodSelector = { namespaces: EVERY_NAMESPACE, pods: EVERYTHING };

/**
 * The pods from which a selector only excludes some (NotIn, DoesNotExist): all pods, or all of one namespace. Undefined
 * for a selector that requires something, and for one of uncertain pods, which are few.
 */
export function broadScope({ namespaces, pods, certainty }: PodSelector): PodSelector | undefined {
  if (certainty === 'uncertain') return undefined;
  const ofNamespaces = namespaces.kind === 'name' ? [] : namespaces.selector.requirements;
  const requirements = [...ofNamespaces, ...pods.requirements];
  if (requirements.length === 0 || !requirements.every(isNegative)) return undefined;
  return namespaces.kind === 'name' ? { namespaces, pods: EVERYTHING } : EVERY_POD;
}

function isNegative({ operator }: Requirement): boolean {
  return operator === 'NotIn' || operator === 'DoesNotExist';
}
