/**
 * The addresses of nodes beside those of their status, and the networks of policies that mean them because they contain
 * an InternalIP of the node: the tunnels from which nodes send (N75), and for rules that deny or pass all of their
 * addresses (C59). A rule for such a network looks up a set of these addresses as well; other rules stay as they are.
 */
import { getOrMake } from '../lib/collections/getormake.ts';
import { type Address, familyOf } from '../model/address.ts';
import { internalIpsOf, type Node } from '../model/cluster.ts';
import {
  type NetworkPeer,
  type NodeMarks,
  type Peer,
  type Policy,
  type Rule,
  rulesOf,
} from '../model/policy.ts';
import { matchesLabels } from '../model/selector.ts';
import { credibleTunnelAddresses, gatewaysOf } from '../model/tunneladdresses.ts';
import { containsAny, Entrances, entrancesOf, type Network, type Numbers, rangesOf } from './entrances.ts';

interface TunnelNode {
  readonly addresses: readonly Address[];
  readonly internalIps: readonly Address[];
  /** The InternalIPs as numbers, as ranges are. */
  readonly entrances: Numbers;
}

export class TunnelNodes {
  /** The nodes that have credible tunnel addresses, by name. */
  readonly nodes: ReadonlyMap<string, TunnelNode>;
  readonly #nodes = new Map<string, TunnelNode>();
  readonly #isOfPod: (address: Address) => boolean;
  /** The names of the nodes that claim each address: more than one, and none of them has it. */
  readonly #claims = new Map<Address, Set<string>>();
  readonly #entrances = new Entrances();
  /** The nodes that have each address in no status (C59), of those that were asked for. */
  readonly watched: ReadonlyMap<Address, ReadonlySet<string>>;
  readonly #watched = new Map<Address, Set<string>>();
  readonly #watchedOf = new Map<string, readonly Address[]>();
  /** The addresses that a pod had when they were asked for. */
  readonly #ofPods = new Set<Address>();

  readonly #all: ReadonlyMap<string, Node>;
  readonly #own: string;

  /** `nodes` are those of the cluster as they are, and `own` is the agent's. Says whether a known pod has an address. */
  constructor(nodes: ReadonlyMap<string, Node>, own: string, isOfPod: (address: Address) => boolean) {
    this.nodes = this.#nodes;
    this.watched = this.#watched;
    this.#all = nodes;
    this.#own = own;
    this.#isOfPod = isOfPod;
    for (const node of nodes.values()) this.put(node.name, node);
  }

  /**
   * Applies a change of a node. Returns the names of the nodes whose tunnel addresses or InternalIPs may be different by
   * it: itself, and others that claim the same; none if nothing has changed.
   */
  put(name: string, node: Node | undefined): string[] {
    this.#unwatch(name);
    const before = this.#nodes.get(name);
    const now = node === undefined ? undefined : tunnelNodeOf(node);
    if (isEqual(before, now)) return [];
    const others = new Set([name]);
    for (const address of before?.addresses ?? []) this.#unclaim(address, name, others);
    for (const address of now?.addresses ?? []) {
      const claims = getOrMake(this.#claims, address, () => new Set());
      for (const other of claims.add(name)) others.add(other);
    }
    if (now === undefined) this.#nodes.delete(name);
    else this.#nodes.set(name, now);
    this.#entrances.move(name, before?.entrances, now?.entrances);
    return [...others];
  }

  #unclaim(address: Address, name: string, others: Set<string>): void {
    const claims = this.#claims.get(address)!;
    claims.delete(name);
    for (const other of claims) others.add(other);
    if (claims.size > 0) return;
    this.#claims.delete(address);
    if (!this.#watched.has(address)) this.#ofPods.delete(address);
  }

  /** The tunnel addresses of a node, without those that another node claims or a pod has. */
  of(name: string): readonly Address[] {
    return this.#unique(name).filter(address => !this.#isHeldByPod(address));
  }

  /** The same for a network: of its family, and none if it contains no InternalIP of the node. */
  within(network: Network, name: string): readonly Address[] {
    if (!this.#isIn(network, name)) return NONE;
    return this.of(name).filter(address => familyOf(address) === network.cidr.family);
  }

  /**
   * C59: all addresses of a node that other nodes know, without those of pods that are in no status. Rules on the node
   * itself ask by which interface a packet leaves, and so need no addresses of its interfaces.
   */
  everywhere(node: Node): readonly Address[] {
    const gateways = gatewaysOf(node);
    this.#watch(node.name, gateways);
    const free = gateways.filter(address => !this.#isHeldByPod(address));
    return [...new Set([...node.addresses, ...this.of(node.name), ...free])];
  }

  /** The same for a network: of its family, and none if it contains no InternalIP of the node. */
  everywhereWithin(network: Network, node: Node): readonly Address[] {
    const { family } = network.cidr;
    if (!containsAny(network, entrancesOf(node)[family])) return NONE;
    return this.everywhere(node).filter(address => familyOf(address) === family);
  }

  #watch(name: string, addresses: readonly Address[]): void {
    if (this.#watchedOf.get(name) === addresses) return;
    this.#unwatch(name);
    this.#watchedOf.set(name, addresses);
    for (const address of addresses) getOrMake(this.#watched, address, () => new Set()).add(name);
  }

  #unwatch(name: string): void {
    for (const address of this.#watchedOf.get(name) ?? NONE) {
      const names = this.#watched.get(address)!;
      names.delete(name);
      if (names.size > 0) continue;
      this.#watched.delete(address);
      if (!this.#claims.has(address)) this.#ofPods.delete(address);
    }
    this.#watchedOf.delete(name);
  }

  internalIpsOf(name: string): readonly Address[] {
    return this.#nodes.get(name)?.internalIps ?? NONE;
  }

  /** The nodes whose addresses the addresses of changed pods may be, or were. */
  nodesWith(addresses: Iterable<Address>): string[] {
    return [...new Set(addresses)].flatMap(address => [
      ...(this.#claims.get(address) ?? []),
      ...(this.#watched.get(address) ?? []),
    ]);
  }

  /** The addresses that a pod had when they were asked for, and has no longer. */
  givenUp(): Address[] {
    return [...this.#ofPods].filter(address => !this.#isOfPod(address));
  }

  /** The policy with marks on the peers that mean nodes by other addresses than those of their status. */
  marked<P extends Policy>(policy: P): P {
    if (this.#nodes.size === 0 && policy.tier === 'networkpolicy') return policy;
    const marks = nodePeersOf(policy).map(each => this.#markOf(each));
    return marks.some(mark => mark !== '-') ? markedAs(policy, marks.join('')) : policy;
  }

  #markOf({ peer, isDenied }: PolicyPeer): Mark {
    if (!isDenied) return peer.kind === 'network' && this.#hasTunnels(peer) ? 't' : '-';
    const means = (node: Node) =>
      peer.kind === 'nodes'
        ? matchesLabels(peer.selector, node.labels)
        : containsAny(peer, entrancesOf(node)[peer.cidr.family]);
    const own = this.#all.get(this.#own);
    if (own !== undefined && means(own)) return 'o';
    if (peer.kind === 'nodes') return 'e';
    for (const node of this.#all.values()) if (means(node)) return 'e';
    return '-';
  }

  /** Whether pods have the addresses does not matter here: then every pod would have to be looked up. */
  #hasTunnels(network: NetworkPeer): boolean {
    const { family } = network.cidr;
    for (const name of this.#entrances.within(rangesOf(network)))
      if (this.#unique(name).some(address => familyOf(address) === family)) return true;
    return false;
  }

  #unique(name: string): readonly Address[] {
    const { addresses = NONE } = this.#nodes.get(name) ?? {};
    return addresses.filter(address => this.#claims.get(address)!.size === 1);
  }

  #isHeldByPod(address: Address): boolean {
    const isOfPod = this.#isOfPod(address);
    if (isOfPod) this.#ofPods.add(address);
    else this.#ofPods.delete(address);
    return isOfPod;
  }

  #isIn(network: Network, name: string): boolean {
    return containsAny(network, this.#nodes.get(name)?.entrances[network.cidr.family] ?? []);
  }
}

const NONE: readonly Address[] = [];

/** Whether a network of the policy contains one of these InternalIPs. */
export function containsEntrance(policy: Policy, internalIps: Numbers): boolean {
  return nodePeersOf(policy).some(
    ({ peer }) => peer.kind === 'network' && containsAny(peer, internalIps[peer.cidr.family]),
  );
}

function tunnelNodeOf(node: Node): TunnelNode | undefined {
  const addresses = credibleTunnelAddresses(node);
  if (addresses.length === 0) return undefined;
  return { addresses, internalIps: internalIpsOf(node), entrances: entrancesOf(node) };
}

function isEqual(a: TunnelNode | undefined, b: TunnelNode | undefined): boolean {
  return textOf(a) === textOf(b);
}

function textOf(node: TunnelNode | undefined): string {
  return node === undefined ? '' : [node.addresses, node.internalIps].join(' ');
}

interface PolicyPeer {
  readonly peer: NodesPeer;
  /** In a rule that denies or passes. */
  readonly isDenied: boolean;
}

type NodesPeer = Extract<Peer, { kind: 'network' | 'nodes' }>;

const isNodesPeer = (peer: Peer): peer is NodesPeer => peer.kind === 'network' || peer.kind === 'nodes';

const PEERS = new WeakMap<Policy, readonly PolicyPeer[]>();

function nodePeersOf(policy: Policy): readonly PolicyPeer[] {
  return getOrMake(PEERS, policy, () =>
    rulesOf(policy).flatMap(({ peers, action }) =>
      peers === 'any' ? [] : peers.filter(isNodesPeer).map(peer => ({ peer, isDenied: action !== 'accept' })),
    ),
  );
}

/** Whether the marks of a policy depend on all nodes, and not on those with tunnels alone. */
export function deniesNodes(policy: Policy): boolean {
  return policy.tier !== 'networkpolicy' && nodePeersOf(policy).some(({ isDenied }) => isDenied);
}

/** What a peer means of nodes: nothing, tunnels, all addresses, or all addresses with the agent's own node. */
type Mark = '-' | 't' | 'e' | 'o';

const MARKS: Readonly<Record<Mark, NodeMarks>> = {
  '-': {},
  t: { nodes: 'tunnels' },
  e: { nodes: 'everywhere' },
  o: { nodes: 'everywhere', hasOwnNode: true },
};

// One object for each version of a policy and each choice of marks: classes are found by it.
const MARKED = new WeakMap<Policy, Map<string, Policy>>();
const WRITTEN = new WeakMap<Policy, Policy>();

/** The policy without marks, as it was given to `marked`. */
export function withoutMarks(policy: Policy): Policy {
  return WRITTEN.get(policy) ?? policy;
}

function markedAs<P extends Policy>(policy: P, marks: string): P {
  const known = getOrMake(MARKED, policy, () => new Map());
  return getOrMake(known, marks, () => {
    const made = withMarks(policy, marks);
    WRITTEN.set(made, policy);
    return made;
  }) as P;
}

function withMarks<P extends Policy>(policy: P, marks: string): P {
  let next = 0;
  const peerOf = (peer: Peer): Peer =>
    isNodesPeer(peer) ? { ...peer, ...MARKS[marks[next++] as Mark] } : peer;
  const ruleOf = (rule: Rule): Rule =>
    rule.peers === 'any' ? rule : { ...rule, peers: rule.peers.map(peerOf) };
  const { ingress, egress } = policy;
  return {
    ...policy,
    ...(ingress && { ingress: ingress.map(ruleOf) }),
    ...(egress && { egress: egress.map(ruleOf) }),
  };
}
