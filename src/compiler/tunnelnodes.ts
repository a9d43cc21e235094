/**
 * The nodes that send from tunnels (N75), and the networks of policies that mean them because they contain an InternalIP
 * of such a node. A rule for such a network looks up a set of the tunnel addresses as well; other rules stay as they
 * are, so in a cluster without tunnels nothing is different.
 */
import { getOrMake } from '../lib/collections/getormake.ts';
import {
  type Address,
  type AddressRange,
  addressToInt,
  FAMILIES,
  type Family,
  familyOf,
} from '../model/address.ts';
import { internalIpsOf, type Node } from '../model/cluster.ts';
import type { NetworkPeer, Peer, Policy, Rule } from '../model/policy.ts';
import { credibleTunnelAddresses } from '../model/tunneladdresses.ts';
import { peerRanges, rangesContain } from './networks.ts';

/** A network with its exceptions, of a policy. */
type Network = Pick<NetworkPeer, 'cidr' | 'except'>;

interface TunnelNode {
  readonly addresses: readonly Address[];
  readonly internalIps: readonly Address[];
  /** The InternalIPs as numbers, as ranges are. */
  readonly entrances: Numbers;
}

type Numbers = Readonly<Record<Family, readonly bigint[]>>;

export class TunnelNodes {
  /** The nodes that have credible tunnel addresses, by name. */
  readonly nodes: ReadonlyMap<string, TunnelNode>;
  readonly #nodes = new Map<string, TunnelNode>();
  readonly #isOfPod: (address: Address) => boolean;
  /** The names of the nodes that claim each address: more than one, and none of them has it. */
  readonly #claims = new Map<Address, Set<string>>();
  readonly #entrances = new Entrances();
  /** The addresses that a pod had when they were asked for. */
  readonly #ofPods = new Set<Address>();

  /** Says whether a known pod has an address. */
  constructor(nodes: Iterable<Node>, isOfPod: (address: Address) => boolean) {
    this.nodes = this.#nodes;
    this.#isOfPod = isOfPod;
    for (const node of nodes) this.put(node.name, node);
  }

  /**
   * Applies a change of a node. Returns the names of the nodes whose tunnel addresses or InternalIPs may be different by
   * it: itself, and others that claim the same; none if nothing has changed.
   */
  put(name: string, node: Node | undefined): string[] {
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
    this.#ofPods.delete(address);
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

  internalIpsOf(name: string): readonly Address[] {
    return this.#nodes.get(name)?.internalIps ?? NONE;
  }

  /** The nodes whose tunnel addresses the addresses of changed pods may be, or were. */
  nodesWith(addresses: Iterable<Address>): string[] {
    return [...new Set(addresses)].flatMap(address => [...(this.#claims.get(address) ?? [])]);
  }

  /** The addresses that a pod had when they were asked for, and has no longer. */
  givenUp(): Address[] {
    return [...this.#ofPods].filter(address => !this.#isOfPod(address));
  }

  /** The policy with a mark on each network that contains nodes with tunnel addresses of the family. */
  marked<P extends Policy>(policy: P): P {
    if (this.#nodes.size === 0) return policy;
    const marks = networksOf(policy).map(network => (this.#hasTunnels(network) ? '+' : '-'));
    return marks.includes('+') ? markedAs(policy, marks.join('')) : policy;
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

/** Cached by object: every node is compared with every network. */
const RANGES = new WeakMap<Network, AddressRange[]>();

function containsAny(network: Network, addresses: readonly bigint[]): boolean {
  if (addresses.length === 0) return false;
  const ranges = rangesOf(network);
  for (const address of addresses) if (rangesContain(ranges, address)) return true;
  return false;
}

function rangesOf(network: Network): AddressRange[] {
  return RANGES.get(network) ?? newRanges(network);
}

function newRanges(network: Network): AddressRange[] {
  const ranges = peerRanges([network]);
  RANGES.set(network, ranges);
  return ranges;
}

/** Whether a network of the policy contains one of these InternalIPs. */
export function containsEntrance(policy: Policy, internalIps: Numbers): boolean {
  return networksOf(policy).some(network => containsAny(network, internalIps[network.cidr.family]));
}

/** The InternalIPs of all nodes with tunnels in order, so that a network with none of them costs no look at each. */
class Entrances {
  readonly #sorted: Record<Family, bigint[]> = { ip: [], ip6: [] };
  readonly #nodes: Record<Family, Map<bigint, Set<string>>> = { ip: new Map(), ip6: new Map() };

  move(name: string, before: Numbers | undefined, now: Numbers | undefined): void {
    for (const family of FAMILIES) {
      for (const address of before?.[family] ?? []) this.#delete(family, address, name);
      for (const address of now?.[family] ?? []) this.#add(family, address, name);
    }
  }

  /** The nodes with an InternalIP in the ranges. */
  *within(ranges: readonly AddressRange[]): Generator<string> {
    for (const { family, first, last } of ranges) {
      const sorted = this.#sorted[family];
      for (let i = placeIn(sorted, first); i < sorted.length && sorted[i]! <= last; i++)
        yield* this.#nodes[family].get(sorted[i]!)!;
    }
  }

  #add(family: Family, address: bigint, name: string): void {
    const sorted = this.#sorted[family];
    const nodes = getOrMake(this.#nodes[family], address, () => new Set());
    if (nodes.size === 0) sorted.splice(placeIn(sorted, address), 0, address);
    nodes.add(name);
  }

  #delete(family: Family, address: bigint, name: string): void {
    const sorted = this.#sorted[family];
    const nodes = this.#nodes[family].get(address);
    if (!nodes?.delete(name) || nodes.size > 0) return;
    this.#nodes[family].delete(address);
    sorted.splice(placeIn(sorted, address), 1);
  }
}

/** The index of the first that is not smaller. */
function placeIn(sorted: readonly bigint[], address: bigint): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < address) low = middle + 1;
    else high = middle;
  }
  return low;
}

function tunnelNodeOf(node: Node): TunnelNode | undefined {
  const addresses = credibleTunnelAddresses(node);
  if (addresses.length === 0) return undefined;
  const internalIps = internalIpsOf(node);
  return { addresses, internalIps, entrances: numbersOf(internalIps) };
}

export function numbersOf(addresses: readonly Address[]): Numbers {
  const of = (family: Family) => addresses.filter(each => familyOf(each) === family).map(addressToInt);
  return { ip: of('ip'), ip6: of('ip6') };
}

function isEqual(a: TunnelNode | undefined, b: TunnelNode | undefined): boolean {
  return textOf(a) === textOf(b);
}

function textOf(node: TunnelNode | undefined): string {
  return node === undefined ? '' : [node.addresses, node.internalIps].join(' ');
}

const NETWORKS = new WeakMap<Policy, readonly NetworkPeer[]>();

function networksOf(policy: Policy): readonly NetworkPeer[] {
  return getOrMake(NETWORKS, policy, () => {
    const { ingress = [], egress = [] } = policy;
    return [...ingress, ...egress].flatMap(({ peers }) =>
      peers === 'any' ? [] : peers.filter(peer => peer.kind === 'network'),
    );
  });
}

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
    peer.kind === 'network' && marks[next++] === '+' ? { ...peer, hasTunnels: true } : peer;
  const ruleOf = (rule: Rule): Rule =>
    rule.peers === 'any' ? rule : { ...rule, peers: rule.peers.map(peerOf) };
  const { ingress, egress } = policy;
  return {
    ...policy,
    ...(ingress && { ingress: ingress.map(ruleOf) }),
    ...(egress && { egress: egress.map(ruleOf) }),
  };
}
