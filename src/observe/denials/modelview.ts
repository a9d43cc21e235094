/**
 * The cluster in the form in which the reference reads it. The owners of addresses are updated event by event, so the
 * size of the cluster does not matter, and a pod that has just ended still has its name for a while. The index of nodes
 * by address is built for the first denied packet after a Node has changed. The index of policies is updated one by
 * one, and the policies that select a pod are looked up for the first packet of that pod.
 */

import { MultiMap } from '../../lib/collections/multimap.ts';
import type { Address } from '../../model/address.ts';
import { ownsAddressOver } from '../../model/addressowners.ts';
import {
  type Cluster,
  type ClusterEvent,
  isSelectable,
  type Pod,
  type PodKey,
  type ResolvedNames,
} from '../../model/cluster.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { PolicyId } from '../../model/policy.ts';
import { PolicyIndex } from '../../semantics/policyindex.ts';
import { nodesFinder, tunnelFinders, tunnelNodeFinder } from '../../semantics/tunnelends.ts';
import { unknownPodFinders } from '../../semantics/unknownpods.ts';
import { nodeFinder, type Owners, policyFinder, type View } from '../../semantics/view.ts';

/** How long an address that a pod had still names it. */
const REMEMBERED_MS = 60_000;
const MOST_REMEMBERED = 4_096;

export interface FormerPod {
  readonly pod: Pod;
  readonly goneMs: number;
}

export interface ModelViewOptions {
  readonly node: string;
  readonly unknownPods: UnknownPods;
  /** Milliseconds, of a clock that never jumps. */
  readonly now: () => number;
  readonly resolved?: () => ResolvedNames | undefined;
}

type NodeFinders = Pick<
  View,
  'nodeWith' | 'tunnels' | 'tunnelNodeAt' | 'nodesAt' | 'nodeDenyingUnknownPod' | 'nodeOfUnknownPod'
>;

export class ModelView implements View {
  readonly node: string;
  readonly #options: ModelViewOptions;
  #model: Cluster;
  /** All pods that claim an address. */
  readonly #claims = new MultiMap<Address, Pod>();
  readonly #former = new Map<Address, FormerPod>();
  /** Values that are derived from the nodes. */
  readonly #nodes: Memo<NodeFinders>;
  readonly #policies: Memo<View['policiesOn']>;
  /** Built for the first denied packet, and then updated policy by policy. */
  #index: PolicyIndex | undefined;
  /** Policies that have changed since the last flush. */
  readonly #noted = new Set<PolicyId>();

  constructor(model: Cluster, options: ModelViewOptions) {
    this.#model = model;
    this.#options = options;
    this.node = options.node;
    this.#nodes = new Memo(() => this.#findNodes());
    this.#policies = new Memo(() => policyFinder(this.#model, this.#indexNow()));
  }

  get cluster(): Cluster {
    const resolved = this.#options.resolved?.();
    return resolved === undefined ? this.#model : { ...this.#model, resolved };
  }

  /** The names for which a DNS answer gave the pod this address. */
  namesOf(pod: PodKey, address: Address): readonly string[] {
    return this.#options.resolved?.()?.namesOf(pod, address) ?? [];
  }

  /** Another model of the same cluster takes the place of the one before. */
  follow(model: Cluster): void {
    this.#model = model;
    this.#index = undefined;
    this.#nodes.change();
    this.#policies.change();
  }

  /** Call it before the model takes the event: the model says what the pod was. */
  apply(event: ClusterEvent): void {
    if (event.type === 'pod') this.#notePod(event.key, event.value);
    else if (event.type === 'node') this.#nodes.change();
    else if (event.type !== 'hostPort') this.#policies.change();
    if (event.type === 'policy') this.#noted.add(event.key);
  }

  /** A flush has ended, which may have taken the rules from a policy that came since the one before. */
  flushed(): void {
    if (this.#noted.size === 0) return;
    this.#policies.change();
    if (this.#index !== undefined) this.#indexNow();
    this.#noted.clear();
  }

  get owners(): Owners {
    return { get: address => this.ownerOf(address), has: address => this.#claims.has(address) };
  }

  ownerOf(address: Address): Pod | undefined {
    let owner: Pod | undefined;
    const standpoint = { nodes: this.#model.nodes, node: this.node };
    for (const pod of this.#claims.get(address))
      if (owner === undefined || ownsAddressOver(pod, owner, address, standpoint)) owner = pod;
    return owner;
  }

  /** The pod that had the address until a minute ago, while no other pod has it. */
  formerOwnerOf(address: Address): FormerPod | undefined {
    const former = this.#former.get(address);
    if (former === undefined) return undefined;
    return this.#options.now() - former.goneMs > REMEMBERED_MS ? undefined : former;
  }

  // The reference takes them off the view: they are functions of their own.
  readonly nodeWith: View['nodeWith'] = address => this.#nodes.value.nodeWith(address);

  get tunnels(): View['tunnels'] {
    return this.#nodes.value.tunnels;
  }

  readonly tunnelNodeAt: View['tunnelNodeAt'] = address => this.#nodes.value.tunnelNodeAt(address);

  readonly nodesAt: View['nodesAt'] = address => this.#nodes.value.nodesAt(address);

  readonly nodeDenyingUnknownPod: View['nodeDenyingUnknownPod'] = address =>
    this.#nodes.value.nodeDenyingUnknownPod(address);

  readonly nodeOfUnknownPod: View['nodeOfUnknownPod'] = address =>
    this.#nodes.value.nodeOfUnknownPod(address);

  readonly policiesOn: View['policiesOn'] = (pod, direction, tier) =>
    this.#policies.value(pod, direction, tier);

  #findNodes(): NodeFinders {
    const model = this.#model;
    return {
      nodeWith: nodeFinder(model, this.owners),
      tunnels: tunnelFinders(model),
      tunnelNodeAt: tunnelNodeFinder(model, this.owners),
      nodesAt: nodesFinder(model, this.owners),
      ...unknownPodFinders(model, this.owners, this.#options.unknownPods),
    };
  }

  #indexNow(): PolicyIndex {
    const { policies } = this.#model;
    this.#index ??= new PolicyIndex(policies.values());
    for (const id of this.#noted) this.#index.put(id, policies.get(id));
    return this.#index;
  }

  #notePod(key: PodKey, value: Pod | undefined): void {
    const before = this.#model.pods.get(key);
    if (before !== undefined && isSelectable(before))
      for (const address of before.addresses) this.#release(address, before);
    if (value !== undefined && isSelectable(value))
      for (const address of value.addresses) this.#claim(address, value);
  }

  #claim(address: Address, pod: Pod): void {
    this.#claims.add(address, pod);
    this.#former.delete(address);
  }

  #release(address: Address, pod: Pod): void {
    this.#claims.delete(address, pod);
    if (this.#claims.has(address)) return;
    this.#former.delete(address); // so that the latest are the last
    this.#former.set(address, { pod, goneMs: this.#options.now() });
    if (this.#former.size > MOST_REMEMBERED) this.#former.delete(this.#former.keys().next().value!);
  }
}

/** A value derived from a model, valid as long as the model does not change. */
class Memo<T> {
  readonly #make: () => T;
  #made: T | undefined;

  constructor(make: () => T) {
    this.#make = make;
  }

  get value(): T {
    this.#made ??= this.#make();
    return this.#made;
  }

  change(): void {
    this.#made = undefined;
  }
}
