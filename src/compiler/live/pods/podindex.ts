/** The cluster, indexed so that the pods of a selector are found without looking at all pods. */

import { getOrMake } from '../../../lib/collections/getormake.ts';
import { MultiMap } from '../../../lib/collections/multimap.ts';
import type { Address } from '../../../model/address.ts';
import { addressOwners, ownsAddressOver, type Standpoint } from '../../../model/addressowners.ts';
import {
  type Cluster,
  isSelectable,
  type Namespace,
  type Node,
  namespaceAround,
  type Pod,
  type PodKey,
  sameNamespace,
} from '../../../model/cluster.ts';
import {
  type LabelSelector,
  matchNamespace,
  type PodSelector,
  type Requirement,
  selectsPod,
} from '../../../model/selector.ts';
import { TunnelNodes } from '../../tunnelnodes.ts';
import { TextByName } from '../textbyname.ts';

/** A selectable pod, and its namespace as it was when the pod was applied. */
export interface KnownPod {
  readonly pod: Pod;
  readonly namespace: Namespace;
}

/** The pod with the addresses that no other pod owns (N49). */
export interface IndexedPod extends KnownPod {
  readonly addresses: readonly Address[];
}

/** Pods as they were indexed before a change; undefined for pods that were not indexed. */
export type PodsBefore = ReadonlyMap<PodKey, IndexedPod | undefined>;

/** The pods of one namespace, indexed. */
interface NamespacePods {
  /** One for each version of the namespace with which pods were applied. */
  versions: readonly NamespaceVersion[];
  /** By key and value, for all versions together, so that a pod whose namespace is relabelled keeps its entry. */
  readonly byLabel: Map<string, MultiMap<string, Pod>>;
}

/** Pods of one namespace that were applied with the same version of it. */
interface NamespaceVersion {
  readonly namespace: Namespace;
  readonly all: Set<IndexedPod>;
  /** Pods that may have labels that are not known. */
  readonly partial: Set<IndexedPod>;
}

/** Made from a cluster as it is, and updated with every pod that changes. */
export class PodIndex {
  readonly #cluster: Cluster;
  readonly #indexedPods = new Map<PodKey, IndexedPod>();
  readonly #namespaces = new Map<string, NamespacePods>();
  /** The pods of this node. */
  readonly #local = new Set<IndexedPod>();
  /** Every pod that reports an address. */
  readonly #claims = new MultiMap<Address, Pod>();
  /** The owner of each address that several pods report. */
  readonly #owners = new Map<Address, Pod>();
  readonly #networks = new TextByName();
  readonly #node: string;
  /** The index reads them; a change of a Node has to be put into them as well. */
  readonly tunnels: TunnelNodes;

  /** If several pods report an address, `node` decides from whose point of view its owner is found. */
  constructor(cluster: Cluster, node: string) {
    this.#cluster = cluster;
    this.#node = node;
    this.#haveOtherNetworks(cluster.nodes.keys()); // notes the networks of the nodes, to compare later updates with
    const owners = addressOwners(cluster, node);
    for (const pod of cluster.pods.values()) {
      if (!isSelectable(pod)) continue;
      for (const address of pod.addresses) {
        this.#claims.add(address, pod);
        if (this.#isShared(address)) this.#owners.set(address, owners.get(address)!);
      }
      this.#enter(pod, namespaceAround(cluster, pod), address => owners.get(address) === pod);
    }
    this.tunnels = new TunnelNodes(cluster.nodes, node, address => this.#claims.has(address));
  }

  /** Applies a change of a pod and of its namespace. Returns the pods whose entry changed by it, itself and others. */
  update(
    key: PodKey,
    now: Pod | undefined,
    namespace = now && namespaceAround(this.#cluster, now),
  ): PodsBefore {
    const indexed = this.#indexedPods.get(key);
    if (indexed !== undefined && indexed.pod === now) return this.#moveTo(namespace!, indexed);
    const before = indexed?.pod;
    const after = now !== undefined && isSelectable(now) ? now : undefined;
    const changed = new Map([[key, indexed]]);
    for (const address of new Set([...(before?.addresses ?? []), ...(after?.addresses ?? [])])) {
      const [owner, now] = this.#reclaim(address, before, after);
      if (owner?.key === now?.key) continue;
      if (owner !== undefined) changed.set(owner.key, this.#indexedPods.get(owner.key));
      if (now !== undefined) changed.set(now.key, this.#indexedPods.get(now.key));
    }
    if (before !== undefined) this.#leave(key);
    if (after !== undefined) this.#enter(after, namespace!);
    for (const other of changed.keys()) if (other !== key) this.#renew(other);
    return changed;
  }

  /** For a pod of which only the namespace has changed: the entries of its labels and addresses stay. */
  #moveTo(namespace: Namespace, indexed: IndexedPod): PodsBefore {
    const { pod } = indexed;
    const from = this.#version(indexed.namespace);
    const to = this.#version(namespace);
    const moved = { ...indexed, namespace: to.namespace };
    removeFrom(from, indexed);
    addTo(to, moved);
    if (from.all.size === 0) this.#forget(from.namespace);
    if (this.#local.delete(indexed)) this.#local.add(moved);
    this.#indexedPods.set(pod.key, moved);
    return new Map([[pod.key, indexed]]);
  }

  /** Applies changes of the nodes' pod networks. Returns the pods that own other addresses by it, as they were. */
  updateNodes(names: Iterable<string>): PodsBefore {
    const changed = new Map<PodKey, IndexedPod | undefined>();
    if (!this.#haveOtherNetworks(names)) return changed;
    for (const [address, before] of this.#owners) {
      const owner = this.#best(address, this.#claims.get(address))!;
      if (owner === before) continue;
      this.#owners.set(address, owner);
      for (const { key } of [before, owner]) changed.set(key, this.#indexedPods.get(key));
    }
    for (const key of changed.keys()) this.#renew(key);
    return changed;
  }

  /** Nodes are updated all the time without a change of their networks. */
  #haveOtherNetworks(names: Iterable<string>): boolean {
    let changed = false;
    for (const name of names)
      changed = this.#networks.note(name, this.#cluster.nodes.get(name)?.podCidrs.join() ?? '') || changed;
    return changed;
  }

  indexedPod(key: PodKey): IndexedPod | undefined {
    return this.#indexedPods.get(key);
  }

  /** Every selectable pod to which a rule with this selector applies. */
  *select(selector: PodSelector): Generator<IndexedPod> {
    for (const [name, { versions, byLabel }] of this.#namespaces)
      for (const version of versions) {
        if (matchNamespace(selector.namespaces, name, version.namespace) === 'no') continue;
        for (const indexedPod of this.#candidates(version, byLabel, selector.pods))
          if (selectsPod(selector, indexedPod.pod, version.namespace)) yield indexedPod;
      }
  }

  /** How many pods and namespaces `select` looks at; stops counting at `most`. */
  countLookedAt(selector: PodSelector, most: number): number {
    let asked = 0;
    for (const [name, { versions, byLabel }] of this.#namespaces)
      for (const version of versions) {
        if (asked >= most) return asked;
        const isMeant = matchNamespace(selector.namespaces, name, version.namespace) !== 'no';
        asked += isMeant ? 1 + countCandidates(version, byLabel, selector.pods) : 1;
      }
    return asked;
  }

  /** The pod that owns the address, as far as changes were applied. */
  ownerOf(address: Address): Pod | undefined {
    const [first] = this.#claims.get(address);
    return this.#owners.get(address) ?? first;
  }

  /** The selectable pods of a namespace that were applied with another version of it. */
  *inOther(namespace: Namespace): Generator<IndexedPod> {
    for (const version of this.#namespaces.get(namespace.name)?.versions ?? [])
      if (!sameNamespace(version.namespace, namespace)) yield* version.all;
  }

  /** The selectable pods of this node. */
  local(): Iterable<IndexedPod> {
    return this.#local;
  }

  nodes(): Iterable<Node> {
    return this.#cluster.nodes.values();
  }

  /**
   * The pod `before` has become `after`; either may report the address. Returns the former and the new owner.
   * The new owner is found by comparing the owner with the changed pod, and not with all pods that report the
   * address, which may be ten thousand.
   */
  #reclaim(
    address: Address,
    before: Pod | undefined,
    after: Pod | undefined,
  ): readonly [Pod | undefined, Pod | undefined] {
    const owner = this.ownerOf(address);
    const came = after?.addresses.includes(address) ? after : undefined;
    if (before !== undefined) this.#claims.delete(address, before);
    if (came !== undefined) this.#claims.add(address, came);
    if (!this.#isShared(address)) {
      this.#owners.delete(address);
      return [owner, this.ownerOf(address)];
    }
    const stays = owner === before ? this.#successor(address, before, came) : owner;
    const now =
      stays === undefined
        ? this.#best(address, this.#claims.get(address))
        : this.#best(address, came === undefined ? [stays] : [stays, came]);
    this.#owners.set(address, now!);
    return [owner, now];
  }

  /** The owner stays the owner if its evidence for the address is as strong as before. */
  #successor(address: Address, before: Pod | undefined, came: Pod | undefined): Pod | undefined {
    if (before === undefined || came === undefined) return undefined;
    return ownsAddressOver(before, came, address, this.#standpoint) ? undefined : came;
  }

  #best(address: Address, pods: Iterable<Pod>): Pod | undefined {
    let best: Pod | undefined;
    for (const pod of pods)
      if (best === undefined || ownsAddressOver(pod, best, address, this.#standpoint)) best = pod;
    return best;
  }

  get #standpoint(): Standpoint {
    return { nodes: this.#cluster.nodes, node: this.#node };
  }

  #isShared(address: Address): boolean {
    const claims = this.#claims.get(address)[Symbol.iterator]();
    claims.next();
    return !claims.next().done;
  }

  #renew(key: PodKey): void {
    const indexedPod = this.#indexedPods.get(key);
    if (indexedPod === undefined) return;
    this.#leave(key);
    this.#enter(indexedPod.pod, indexedPod.namespace);
  }

  #enter(
    pod: Pod,
    namespace: Namespace,
    owns = (address: Address): boolean => this.ownerOf(address) === pod,
  ): void {
    const version = this.#version(namespace);
    // Nearly always all addresses: then the list of the pod is shared, because there are very many pods.
    const addresses = pod.addresses.every(owns) ? pod.addresses : pod.addresses.filter(owns);
    const indexedPod = { pod, namespace: version.namespace, addresses };
    addTo(version, indexedPod);
    const { byLabel } = this.#namespaces.get(namespace.name)!;
    for (const [label, value] of Object.entries(pod.labels))
      getOrMake(byLabel, label, () => new MultiMap()).add(value, pod);
    if (pod.node === this.#node) this.#local.add(indexedPod);
    this.#indexedPods.set(pod.key, indexedPod);
  }

  /** One object for all pods that were applied with equal namespaces. */
  #version(namespace: Namespace): NamespaceVersion {
    const pods = getOrMake(this.#namespaces, namespace.name, emptyNamespace);
    const found =
      pods.versions.find(version => version.namespace === namespace) ??
      pods.versions.find(version => sameNamespace(version.namespace, namespace));
    if (found !== undefined) return found;
    const made = { namespace, all: new Set<IndexedPod>(), partial: new Set<IndexedPod>() };
    pods.versions = [...pods.versions, made];
    return made;
  }

  #leave(key: PodKey): void {
    const indexedPod = this.#indexedPods.get(key);
    if (indexedPod === undefined) return;
    const { pod, namespace } = indexedPod;
    const version = this.#version(namespace);
    removeFrom(version, indexedPod);
    const { byLabel } = this.#namespaces.get(namespace.name)!;
    for (const [label, value] of Object.entries(pod.labels)) {
      const byValue = byLabel.get(label)!;
      byValue.delete(value, pod);
      if (byValue.isEmpty) byLabel.delete(label);
    }
    if (version.all.size === 0) this.#forget(version.namespace);
    this.#local.delete(indexedPod);
    this.#indexedPods.delete(key);
  }

  #forget(namespace: Namespace): void {
    const pods = this.#namespaces.get(namespace.name)!;
    pods.versions = pods.versions.filter(version => version.namespace !== namespace);
    if (pods.versions.length === 0) this.#namespaces.delete(namespace.name);
  }

  /**
   * The pods of a version that fit its first `In` requirement, and those that might fit it. A pod has one value for a
   * key, so each comes once.
   */
  *#candidates(
    version: NamespaceVersion,
    byLabel: NamespacePods['byLabel'],
    selector: LabelSelector,
  ): Generator<IndexedPod> {
    const first = lookupRequirement(selector, version.all.size);
    if (first === undefined) return yield* version.all;
    for (const value of new Set(first.values))
      for (const { key } of byLabel.get(first.key)?.get(value) ?? []) {
        const indexedPod = this.#indexedPods.get(key)!;
        if (indexedPod.namespace === version.namespace) yield indexedPod;
      }
    for (const indexedPod of version.partial)
      if (!Object.hasOwn(indexedPod.pod.labels, first.key)) yield indexedPod;
  }
}

function emptyNamespace(): NamespacePods {
  return { versions: [], byLabel: new Map() };
}

function addTo({ all, partial }: NamespaceVersion, indexedPod: IndexedPod): void {
  all.add(indexedPod);
  if (indexedPod.pod.partial) partial.add(indexedPod);
}

function removeFrom({ all, partial }: NamespaceVersion, indexedPod: IndexedPod): void {
  all.delete(indexedPod);
  partial.delete(indexedPod);
}

function countCandidates(
  { all, partial }: NamespaceVersion,
  byLabel: NamespacePods['byLabel'],
  selector: LabelSelector,
): number {
  const first = lookupRequirement(selector, all.size);
  if (first === undefined) return all.size;
  const byValue = byLabel.get(first.key);
  return first.values.reduce((sum, value) => sum + (byValue?.count(value) ?? 0), partial.size);
}

/** The requirement by which pods are looked up; undefined if it has more values than there are pods. */
function lookupRequirement({ requirements }: LabelSelector, pods: number): Requirement | undefined {
  const first = requirements.find(({ operator }) => operator === 'In');
  return first === undefined || first.values.length > pods ? undefined : first;
}
