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
  type PodKey,
  type PodPort,
} from '../../model/cluster.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { PodLinks } from '../../model/podlinks.ts';
import type { PolicyId } from '../../model/policy.ts';
import { NO_SUBJECTS, type Subjects } from '../../names/subjects.ts';
import { type Op, objectOf } from '../../nft/plan/op.ts';
import type { Chain, NftSet, Ruleset, Table, TableFamily } from '../../nft/ruleset.ts';
import type { TablePart } from '../attachedpods.ts';
import { baseChains } from '../base.ts';
import { podMaps, strayPod } from '../compile.ts';
import { type Hearing, namesPart, resolverPorts } from '../namespeers.ts';
import { namesSubjects } from '../namessubjects.ts';
import { linkSets, type NodeNetwork, nodeNetworkOf } from '../podlinks.ts';
import { podPortsTable } from '../podports.ts';
import { deniedNetworks } from '../unknownpods.ts';
import { LiveAttachedPods } from './attachedpods.ts';
import { LiveClasses } from './classes.ts';
import { LiveGroups } from './groups.ts';
import { LivePlacements } from './placements.ts';
import { type IndexedPod, PodIndex } from './podindex.ts';
import type { PolicyMoves } from './policymoves.ts';

const NOTHING: TablePart = { chains: [], sets: [] };

export class Incremental {
  readonly cluster: Cluster;
  readonly #state = new ClusterState();
  readonly #node: string;
  readonly #podIndex: PodIndex;
  readonly #groups: LiveGroups;
  readonly #classes: LiveClasses;
  readonly #placements: LivePlacements;
  readonly #unknownPods: UnknownPods;
  /** Of a node whose pods we link. */
  readonly #attachedPods: LiveAttachedPods | undefined;
  /** Local pods as of the last flush: where unknown ones are denied, the maps know them all. */
  readonly #local = new Set<PodKey>();
  /** Pods of other nodes with addresses in this node's pod networks, where unknown pods are denied. */
  readonly #strays = new Map<PodKey, IndexedPod>();
  #denied: readonly Cidr[] = [];
  #network: NodeNetwork;
  #podPorts: readonly PodPort[] | undefined;
  #bridge: Table | undefined;
  #bases: Record<Family, readonly Chain[]>;
  readonly #podLinks: PodLinks;
  /** Addresses of nodes as of the last flush. */
  readonly #nodeAddresses = new Map<string, string>();
  #linkSets: Record<Family, readonly NftSet[]> = { ip: linkSets('ip', []), ip6: linkSets('ip6', []) };
  #podMaps: Record<Family, readonly NftSet[]>;
  readonly #hearing: Hearing | undefined;
  #namesSubjects: Subjects = NO_SUBJECTS;
  #hears = false;
  #names: Record<Family, TablePart> = { ip: NOTHING, ip6: NOTHING };
  #marked = emptyMarks();

  /** `hearing` says how DNS answers are heard: where they are not, names match nothing. */
  constructor(
    node: string,
    unknownPods: UnknownPods = 'allow',
    podLinks: PodLinks = 'others',
    hearing?: Hearing,
  ) {
    this.cluster = this.#state;
    this.#node = node;
    this.#unknownPods = unknownPods;
    this.#podLinks = podLinks;
    this.#network = nodeNetworkOf(undefined, podLinks);
    this.#bases = basesOf([], this.#network);
    this.#attachedPods = podLinks === 'ours' ? new LiveAttachedPods(this.#state, node) : undefined;
    this.#podIndex = new PodIndex(this.#state, node);
    this.#groups = new LiveGroups(this.#state, this.#podIndex);
    this.#hearing = hearing;
    this.#classes = new LiveClasses(this.#groups, hearing !== undefined);
    this.#placements = new LivePlacements(this.#state, this.#classes);
    this.#podMaps = this.#makePodMaps();
  }

  /** Who has rules by name, as of the last flush; the same object until that changes. */
  get namesSubjects(): Subjects {
    return this.#namesSubjects;
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
    const moves = this.#placements.changePolicies(marked.policy);
    for (const key of local) this.#place(key);
    const moved = marked.policy.size > 0 && this.#move(moves, local);
    if (local.size > 0 || moved || strayed) this.#podMaps = this.#makePodMaps();
    if (local.size > 0 || moved) this.#followNames();
    return this.#assemble();
  }

  /** Who has rules by name stays the same object as long as it says the same. */
  #followNames(): void {
    const hearing = this.#hearing;
    if (hearing === undefined) return;
    const subjects = namesSubjects(this.#placements.all(), this.#groups.names());
    if (JSON.stringify(subjects) === JSON.stringify(this.#namesSubjects)) return;
    this.#namesSubjects = subjects;
    const hears = subjects.pods.length > 0;
    const part = (family: Family) => (hears ? namesPart(family, subjects, hearing) : NOTHING);
    this.#names = { ip: part('ip'), ip6: part('ip6') };
    if (hears !== this.#hears) this.#makeBases(hears);
  }

  #isLocal(key: PodKey): boolean {
    return this.#podIndex.indexedPod(key)?.pod.node === this.#node;
  }

  /** The base chains stay the same objects as long as they deny in the same networks. Answers whether they do not. */
  #renewBases(): boolean {
    const denied = deniedNetworks(this.cluster, this.#node, this.#unknownPods);
    const network = nodeNetworkOf(this.cluster.nodes.get(this.#node), this.#podLinks);
    if (JSON.stringify([denied, network]) === JSON.stringify([this.#denied, this.#network])) return false;
    this.#denied = denied;
    this.#network = network;
    this.#makeBases(this.#hears);
    return true;
  }

  #makeBases(hears: boolean): void {
    this.#hears = hears;
    const answersFrom = hears && this.#hearing !== undefined ? resolverPorts(this.#hearing) : [];
    this.#bases = basesOf(this.#denied, this.#network, answersFrom);
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

  #place(key: PodKey): void {
    const isLocal = this.#isLocal(key);
    if (isLocal) this.#local.add(key);
    else this.#local.delete(key);
    this.#placements.place(key, isLocal ? this.#podIndex.indexedPod(key) : undefined);
  }

  /** Moves the local pods to which something happens by changes of policies alone; answers whether there are any. */
  #move(moves: PolicyMoves, placed: ReadonlySet<PodKey>): boolean {
    let moved = false;
    for (const indexedPod of this.#podIndex.onNode(this.#node))
      if (!placed.has(indexedPod.pod.key)) moved = this.#placements.move(indexedPod, moves) || moved;
    return moved;
  }

  #makePodMaps(): Record<Family, readonly NftSet[]> {
    const placements = this.#placements.all();
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
      ...this.#names[family].chains,
      ...(attached?.chains(family) ?? []),
      ...this.#classes.chains(family),
    ];
    const sets = [
      ...this.#podMaps[family],
      ...this.#linkSets[family],
      ...this.#names[family].sets,
      ...(attached?.sets(family) ?? []),
      ...this.#classes.sets(family),
      ...this.#groups.sets(family),
    ];
    return { chains: byName(chains), sets: byName(sets) };
  }
}

function basesOf(
  denied: readonly Cidr[],
  network: NodeNetwork,
  answersFrom: readonly number[] = [],
): Record<Family, readonly Chain[]> {
  const base = (family: Family) => baseChains(family, denied, network, answersFrom);
  return { ip: base('ip'), ip6: base('ip6') };
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
