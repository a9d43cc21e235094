/**
 * The desired state of one node, followed event by event: equal to `compile` of the same cluster
 * after every flush, however the events came and wherever the flushes fell between them.
 *
 *     note(event)   the cluster changes; what the event may touch is marked
 *     flush()       marked pods move between groups and classes; what did not change stays the same object
 */

import { type Cidr, FAMILIES, type Family } from '../../model/address.ts';
import {
  type Cluster,
  type ClusterEvent,
  ClusterState,
  namespaceOf,
  type PodKey,
  type PodPort,
} from '../../model/cluster.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { PodLinks } from '../../model/podlinks.ts';
import { comparePolicies, type Policy, type PolicyId } from '../../model/policy.ts';
import { type Op, objectOf } from '../../nft/plan/op.ts';
import type { Chain, NftSet, Ruleset, Table, TableFamily } from '../../nft/ruleset.ts';
import { baseChains } from '../base.ts';
import { classOf, selects } from '../classes.ts';
import { type Placement, podMaps, strayPod } from '../compile.ts';
import { linkSets, type NodeNetwork, nodeNetworkOf } from '../podlinks.ts';
import { podPortsTable } from '../podports.ts';
import { className } from '../program.ts';
import { deniedNetworks } from '../unknownpods.ts';
import { LiveAttachedPods } from './attachedpods.ts';
import { LiveClasses } from './classes.ts';
import { LiveGroups } from './groups.ts';
import { type IndexedPod, PodIndex } from './podindex.ts';
import { SelectorIndex } from './selectorindex.ts';

const DIRECTIONS = ['egress', 'ingress'] as const;

export class Incremental {
  readonly cluster: Cluster;
  readonly #state = new ClusterState();
  readonly #node: string;
  readonly #podIndex: PodIndex;
  readonly #groups: LiveGroups;
  readonly #classes: LiveClasses;
  readonly #subjects = new SelectorIndex<Policy>();
  /** Policies as of the last flush. */
  readonly #policies = new Map<PolicyId, Policy>();
  readonly #placements = new Map<PodKey, readonly Placement[]>();
  readonly #unknownPods: UnknownPods;
  /** Of a node whose pods we link. */
  readonly #attachedPods: LiveAttachedPods | undefined;
  /** Local pods as of the last flush: where unknown ones are denied, the maps know them all. */
  readonly #local = new Set<PodKey>();
  /** Pods of other nodes with addresses in this node's pod networks, where unknown pods are denied. */
  readonly #strays = new Map<PodKey, IndexedPod>();
  #denied: readonly Cidr[] = [];
  #network: NodeNetwork = nodeNetworkOf(undefined);
  #podPorts: readonly PodPort[] | undefined;
  #bridge: Table | undefined;
  #bases: Record<Family, readonly Chain[]> = { ip: baseChains('ip'), ip6: baseChains('ip6') };
  /** Addresses of nodes as of the last flush. */
  readonly #nodeAddresses = new Map<string, string>();
  #linkSets: Record<Family, readonly NftSet[]> = { ip: linkSets('ip', []), ip6: linkSets('ip6', []) };
  #podMaps: Record<Family, readonly NftSet[]>;
  #marked = emptyMarks();

  constructor(node: string, unknownPods: UnknownPods = 'allow', podLinks: PodLinks = 'others') {
    this.cluster = this.#state;
    this.#node = node;
    this.#unknownPods = unknownPods;
    this.#attachedPods = podLinks === 'ours' ? new LiveAttachedPods(this.#state, node) : undefined;
    this.#podIndex = new PodIndex(this.#state, node);
    this.#groups = new LiveGroups(this.#state, this.#podIndex);
    this.#classes = new LiveClasses(this.#groups);
    this.#podMaps = this.#makePodMaps();
  }

  note(event: ClusterEvent): void {
    this.#state.apply(event);
    this.#marked[event.type].add(event.key as never);
  }

  /** The policies of all classes that use the object of this step. */
  policiesBehind(op: Op): readonly PolicyId[] {
    const name = objectOf(op);
    return name === undefined || op.family === 'bridge' ? [] : this.#classes.policiesBehind(op.family, name);
  }

  flush(): Ruleset {
    const marked = this.#marked;
    this.#marked = emptyMarks();
    const pods = new Set<PodKey>();
    for (const key of marked.pod) {
      for (const other of this.#podIndex.update(key, this.cluster.pods.get(key))) pods.add(other);
    }
    if (marked.node.size > 0) for (const key of this.#podIndex.updateNodes()) pods.add(key);
    for (const name of marked.namespace)
      for (const { pod } of this.#podIndex.inNamespace(name)) pods.add(pod.key);
    for (const key of pods) this.#groups.refreshPod(key);
    for (const name of marked.node) this.#groups.refreshNode(name);
    const renewed = marked.node.has(this.#node) && this.#renewBases();
    if (marked.node.has(this.#node)) this.#renewBridge();
    this.#followNodes(marked.node);
    const strayed = this.#followStrays(renewed ? this.cluster.pods.keys() : pods);
    this.#attachedPods?.refreshNodes(marked.node);
    if (marked.hostPort.size > 0) this.#attachedPods?.refreshHostPorts();
    const local = new Set([...pods].filter(key => this.#isLocal(key) || this.#local.has(key)));
    for (const id of marked.policy) for (const key of this.#changePolicy(id)) local.add(key);
    for (const key of local) this.#place(key);
    if (local.size > 0 || strayed) this.#podMaps = this.#makePodMaps();
    return this.#assemble();
  }

  /** Takes in what a policy is now; answers the local pods that it reached before or reaches now. */
  #changePolicy(id: PolicyId): PodKey[] {
    const [before, after] = [this.#policies.get(id), this.cluster.policies.get(id)];
    if (before !== undefined) {
      this.#subjects.delete(before.subject, before);
      this.#policies.delete(id);
    }
    if (after !== undefined) {
      this.#subjects.add(after.subject, after);
      this.#policies.set(id, after);
    }
    const reached = ({ pod }: IndexedPod) =>
      this.#placements
        .get(pod.key)
        ?.some(
          ({ podClass }) => before !== undefined && podClass.policies.some(policy => policy.id === id),
        ) ||
      (after !== undefined && selects(after, pod, namespaceOf(this.cluster, pod.namespace)) !== 'no');
    return [...this.#podIndex.onNode(this.#node)].filter(reached).map(({ pod }) => pod.key);
  }

  #isLocal(key: PodKey): boolean {
    return this.#podIndex.indexedPod(key)?.pod.node === this.#node;
  }

  /** The base chains stay the same objects as long as they deny in the same networks. Answers whether they do not. */
  #renewBases(): boolean {
    const denied = deniedNetworks(this.cluster, this.#node, this.#unknownPods);
    const network = nodeNetworkOf(this.cluster.nodes.get(this.#node));
    if (JSON.stringify([denied, network]) === JSON.stringify([this.#denied, this.#network])) return false;
    this.#denied = denied;
    this.#network = network;
    this.#bases = { ip: baseChains('ip', denied, network), ip6: baseChains('ip6', denied, network) };
    return true;
  }

  /** Pods come and go by ports of a bridge; the rules of IP know nothing of it. */
  #renewBridge(): void {
    const ports = this.cluster.nodes.get(this.#node)?.links?.podPorts;
    if (JSON.stringify(ports) === JSON.stringify(this.#podPorts)) return;
    this.#podPorts = ports;
    this.#bridge = podPortsTable(ports);
  }

  /** The set of all nodes' addresses stays the same object as long as none comes or goes. */
  #followNodes(names: Iterable<string>): void {
    let changed = false;
    for (const name of names) {
      const addresses = this.cluster.nodes.get(name)?.addresses.join() ?? '';
      changed ||= addresses !== (this.#nodeAddresses.get(name) ?? '');
      if (addresses === '') this.#nodeAddresses.delete(name);
      else this.#nodeAddresses.set(name, addresses);
    }
    if (!changed) return;
    const nodes = [...this.cluster.nodes.values()];
    this.#linkSets = { ip: linkSets('ip', nodes), ip6: linkSets('ip6', nodes) };
  }

  /** Whether pods of other nodes have come into this node's pod networks, have changed there, or have left them. */
  #followStrays(keys: Iterable<PodKey>): boolean {
    let changed = false;
    for (const key of keys) {
      const stray = strayPod(this.#podIndex.indexedPod(key), this.#node, this.#denied);
      changed ||= stray !== undefined || this.#strays.has(key);
      if (stray === undefined) this.#strays.delete(key);
      else this.#strays.set(key, stray);
    }
    return changed;
  }

  /** Puts a pod into the classes that it belongs to now; joins come first, so that what both share stays alive. */
  #place(key: PodKey): void {
    if (this.#isLocal(key)) this.#local.add(key);
    else this.#local.delete(key);
    const before = this.#placements.get(key) ?? [];
    const after = this.#isLocal(key) ? this.#placementsOf(this.#podIndex.indexedPod(key)!) : [];
    for (const { chain, podClass } of after) this.#classes.join(chain, podClass, key);
    for (const { chain } of before) {
      if (!after.some(other => other.chain === chain)) this.#classes.leave(chain, key);
    }
    if (after.length > 0) this.#placements.set(key, after);
    else this.#placements.delete(key);
  }

  #placementsOf(indexedPod: IndexedPod): Placement[] {
    const { pod } = indexedPod;
    const namespace = namespaceOf(this.cluster, pod.namespace);
    const candidates = [...this.#subjects.candidates(pod, namespace)].sort(comparePolicies);
    return DIRECTIONS.flatMap((direction): Placement[] => {
      const podClass = classOf(pod, namespace, candidates, direction);
      return podClass === undefined ? [] : [{ indexedPod, podClass, chain: className(podClass) }];
    });
  }

  #makePodMaps(): Record<Family, readonly NftSet[]> {
    const placements = [...this.#placements.values()].flat();
    const local = this.#unknownPods === 'deny' ? this.#podIndex.onNode(this.#node) : [];
    const known = [...local, ...this.#strays.values()];
    return { ip: podMaps(placements, known, 'ip'), ip6: podMaps(placements, known, 'ip6') };
  }

  #assemble(): Ruleset {
    const tables = FAMILIES.map((family): [TableFamily, Table] => [family, this.#table(family)]);
    return { tables: new Map(this.#bridge === undefined ? tables : [...tables, ['bridge', this.#bridge]]) };
  }

  #table(family: Family): Table {
    const attached = this.#attachedPods;
    const chains = [
      ...this.#bases[family],
      ...(attached?.chains(family) ?? []),
      ...this.#classes.chains(family),
    ];
    const sets = [
      ...this.#podMaps[family],
      ...this.#linkSets[family],
      ...(attached?.sets(family) ?? []),
      ...this.#classes.sets(family),
      ...this.#groups.sets(family),
    ];
    return { chains: byName(chains), sets: byName(sets) };
  }
}

function byName<T extends { readonly name: string }>(values: readonly T[]): Map<string, T> {
  return new Map(values.map(value => [value.name, value]));
}

/** What events have touched since the last flush. */
function emptyMarks() {
  return {
    pod: new Set<PodKey>(),
    namespace: new Set<string>(),
    node: new Set<string>(),
    policy: new Set<PolicyId>(),
    hostPort: new Set<string>(),
  };
}
