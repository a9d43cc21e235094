/** The peer groups that are in use, updated with each pod and node that changes. */

import { getOrMake } from '../../../lib/collections/getormake.ts';
import type { Pieces } from '../../../lib/collections/pieces.ts';
import { type Address, FAMILIES, type Family, familyOf } from '../../../model/address.ts';
import { type Cluster, type ContainerPort, internalIpsOf, type PodKey } from '../../../model/cluster.ts';
import { LiveSet } from '../../../nft/plan/history.ts';
import type { ElementKey } from '../../../nft/ruleset.ts';
import {
  type Group,
  groupSet,
  labelSelectorsOf,
  type NamedGroup,
  type NodePeer,
  nodeKeys,
  nodePeersOf,
  podKeys,
  podSelectorsOf,
} from '../../group.ts';
import type { LiveTables } from '../livetables.ts';
import type { IndexedPod, PodIndex } from '../pods/podindex.ts';
import { MentionIndex } from './mentionindex.ts';
import { NodeGroups } from './nodegroups.ts';
import { SelectorIndex } from './selectorindex.ts';
import { SET_QUOTA, type SetQuota, SetQuotaLedger } from './setquota.ts';

interface LiveGroup {
  readonly named: NamedGroup;
  readonly nodePeers: readonly NodePeer[];
  /** How many rules look it up, by the family of their table. */
  readonly uses: Record<Family, number>;
  /** How many of these rules are of NetworkPolicies, by namespace. */
  readonly tenants: Map<string, number>;
  /** Whether its members are in its sets. Until the quota has room for them, the group must not be programmed. */
  isFilled: boolean;
  /**
   * The elements of each node. Those of pods are not kept: there are very many, and callers pass what a pod was before.
   */
  readonly nodes: Map<string, readonly ElementKey[]>;
  readonly sets: Record<Family, LiveSet>;
}

/**
 * When a group's set grows by one member, its table may have to grow: so refreshing a pod yields after so many groups.
 */
const GROUPS_OF_A_PIECE = 64;
const NO_KEYS: readonly ElementKey[] = [];

export class LiveGroups {
  readonly #cluster: Cluster;
  readonly #podIndex: PodIndex;
  readonly #groups = new Map<string, LiveGroup>();
  readonly #byPodSelector = new SelectorIndex<LiveGroup>();
  readonly #byMention = new MentionIndex<LiveGroup>();
  readonly #withNodes = new NodeGroups<LiveGroup>();
  readonly #ledger: SetQuotaLedger;
  #changes = 0;
  /** Names of groups whose sets came, went or changed since the last flush. */
  #changed = new Set<string>();
  /** Groups that wait for room in the quota: their sets have no members yet. */
  readonly #unfilled = new Set<LiveGroup>();

  constructor(cluster: Cluster, podIndex: PodIndex, room: SetQuota = SET_QUOTA) {
    this.#cluster = cluster;
    this.#podIndex = podIndex;
    this.#ledger = new SetQuotaLedger(room);
  }

  has({ name }: NamedGroup): boolean {
    return this.#groups.has(name);
  }

  /** Whether it has a set in the table of that family. */
  isIn(family: Family, { name }: NamedGroup): boolean {
    return (this.#groups.get(name)?.uses[family] ?? 0) > 0;
  }

  /** How often a pod or node has joined or left an existing group. */
  get changes(): number {
    return this.#changes;
  }

  /** How many members its set of one family has. */
  sizeOf({ name }: NamedGroup, family: Family): number {
    return this.#groups.get(name)?.sets[family].size ?? 0;
  }

  /** How many members its sets of both families have. */
  membersOf({ name }: NamedGroup): number {
    const live = this.#groups.get(name);
    return live === undefined ? 0 : sizeOf(live);
  }

  /**
   * Adds a user in the table of a family; the first user creates the group. Returns how many pods were looked at to
   * fill it: none where only one namespace's policies need it and that has no room for more members (see
   * `fillWithinQuota`).
   */
  acquire(named: NamedGroup, family: Family, namespace?: string): number {
    const live = getOrMake(this.#groups, named.name, () => newGroup(named));
    if (live.uses[family]++ === 0) this.#changed.add(named.name);
    if (namespace !== undefined) this.#addTenant(live, namespace);
    if (live.isFilled) return 0;
    if (namespace === undefined || this.#ledger.roomOf(namespace) >= 0) return this.#fill(live);
    this.#unfilled.add(live);
    return 0;
  }

  /** Removes a user; the group ends with its last one. */
  release({ name }: NamedGroup, family: Family, namespace?: string): void {
    const live = this.#groups.get(name)!;
    if (--live.uses[family] === 0) this.#changed.add(name);
    if (namespace !== undefined) this.#deleteTenant(live, namespace);
    if (live.uses.ip + live.uses.ip6 === 0) this.#end(live);
  }

  /** How many more members the policies of a namespace, and of all namespaces, may need. */
  get room(): Pick<SetQuotaLedger, 'roomOf' | 'mayPrepare'> {
    return this.#ledger;
  }

  /** Fills the groups for which the quota has room by now. Returns the namespaces whose policies need more members than that. */
  *fillWithinQuota(): Pieces<readonly string[]> {
    for (const live of this.#unfilled) {
      if ([...live.tenants.keys()].every(namespace => this.#ledger.roomOf(namespace) < 0)) continue;
      this.#fill(live);
      yield;
    }
    return this.#ledger.overQuota();
  }

  #addTenant(live: LiveGroup, namespace: string): void {
    const uses = live.tenants.get(namespace) ?? 0;
    live.tenants.set(namespace, uses + 1);
    if (uses === 0) this.#ledger.join(namespace, sizeOf(live), live.tenants.size - 1);
  }

  #deleteTenant(live: LiveGroup, namespace: string): void {
    const uses = live.tenants.get(namespace)! - 1;
    if (uses > 0) live.tenants.set(namespace, uses);
    else {
      live.tenants.delete(namespace);
      this.#ledger.leave(namespace, sizeOf(live), live.tenants.size);
    }
  }

  /**
   * Call after every change of a pod in the index, once for each. `before` is the pod as it was indexed, which says of
   * which groups it is a member. Returns how many groups it may have joined or left.
   */
  *refreshPod(key: PodKey, before: IndexedPod | undefined): Pieces<number> {
    const now = this.#podIndex.indexedPod(key);
    let asked = 0;
    for (const live of this.#touchedBy(before, now)) {
      const { group } = live.named;
      const keys = now === undefined ? NO_KEYS : podKeys(group, now);
      this.#put(live, before === undefined ? NO_KEYS : podKeys(group, before), keys);
      if (++asked % GROUPS_OF_A_PIECE === 0) yield;
    }
    return asked;
  }

  /**
   * The groups that the change may affect. If only labels have changed, these are the groups whose selectors mention a
   * label that differs.
   */
  #touchedBy(before: IndexedPod | undefined, now: IndexedPod | undefined): ReadonlySet<LiveGroup> {
    const mentioned =
      before && now && differByLabelsAlone(before, now) && this.#byMention.touchedBy(before, now);
    if (mentioned) return mentioned;
    const touched = new Set<LiveGroup>();
    for (const known of [before, now])
      if (known !== undefined)
        for (const live of this.#byPodSelector.candidates(known.pod, known.namespace)) touched.add(live);
    return touched;
  }

  refreshNode(name: string): void {
    const node = this.#cluster.nodes.get(name);
    const internalIps = node === undefined ? [] : internalIpsOf(node);
    for (const live of this.#withNodes.touchedBy(name, internalIps)) this.#putNode(live, name);
  }

  /** Puts the sets that have changed into the tables. */
  flushInto(tables: LiveTables): void {
    for (const name of this.#changed) {
      const live = this.#groups.get(name);
      for (const family of FAMILIES)
        tables.setSet(family, name, live && live.uses[family] > 0 ? live.sets[family].now() : undefined);
    }
    this.#changed.clear();
  }

  /** The groups whose peers are domain names. */
  *names(): Generator<NamedGroup> {
    for (const { named } of this.#groups.values()) if (named.group.kind === 'names') yield named;
  }

  /** Fills the group's sets with its members. Returns how many pods were looked at. */
  #fill(live: LiveGroup): number {
    const { group } = live.named;
    live.isFilled = true;
    this.#changed.add(live.named.name);
    this.#unfilled.delete(live);
    for (const selector of podSelectorsOf(group)) this.#byPodSelector.add(selector, live);
    for (const selector of labelSelectorsOf(group)) this.#byMention.add(selector, live);
    if (live.nodePeers.length > 0) this.#withNodes.add(live.nodePeers, live);
    let asked = 0;
    for (const indexedPod of this.#podsOf(group)) {
      put(live, NO_KEYS, keysOfSelected(group, indexedPod));
      asked++;
    }
    this.#ledger.grow(sizeOf(live), live.tenants);
    if (live.nodePeers.length > 0) for (const name of this.#cluster.nodes.keys()) this.#putNode(live, name);
    return asked;
  }

  /** The pods that the group's selectors select, each once. */
  #podsOf(group: Group): Iterable<IndexedPod> {
    const selectors = podSelectorsOf(group);
    const [only] = selectors;
    if (selectors.length === 1) return this.#podIndex.select(only!);
    return new Set(selectors.flatMap(selector => [...this.#podIndex.select(selector)]));
  }

  #end(live: LiveGroup): void {
    this.#groups.delete(live.named.name);
    this.#unfilled.delete(live);
    if (!live.isFilled) return;
    for (const selector of podSelectorsOf(live.named.group)) this.#byPodSelector.delete(selector, live);
    for (const selector of labelSelectorsOf(live.named.group)) this.#byMention.delete(selector, live);
    if (live.nodePeers.length > 0) this.#withNodes.delete(live.nodePeers, live, live.nodes.keys());
  }

  #put(live: LiveGroup, before: readonly ElementKey[], keys: readonly ElementKey[]): void {
    const more = put(live, before, keys);
    if (more === undefined) return;
    this.#changed.add(live.named.name);
    if (more === 0) return;
    this.#changes++;
    this.#ledger.grow(more, live.tenants);
  }

  #putNode(live: LiveGroup, name: string): void {
    const node = this.#cluster.nodes.get(name);
    const before = live.nodes.get(name) ?? NO_KEYS;
    const keys = node === undefined ? NO_KEYS : nodeKeys(live.nodePeers, node, this.#podIndex.tunnels);
    this.#put(live, before, keys);
    if (keys.length > 0) {
      live.nodes.set(name, keys);
      this.#withNodes.joined(name, live);
    } else if (live.nodes.delete(name)) this.#withNodes.left(name, live);
  }
}

function newGroup(named: NamedGroup): LiveGroup {
  const sets = { ip: new LiveSet(groupSet(named, 'ip')), ip6: new LiveSet(groupSet(named, 'ip6')) };
  return {
    named,
    nodePeers: nodePeersOf(named.group),
    uses: { ip: 0, ip6: 0 },
    tenants: new Map(),
    isFilled: false,
    nodes: new Map(),
    sets,
  };
}

function sizeOf({ sets }: LiveGroup): number {
  return sets.ip.size + sets.ip6.size;
}

/**
 * The elements of a pod that one of the group's selectors selects: a group of peers has it as a member for that alone.
 */
function keysOfSelected(group: Group, indexedPod: IndexedPod): readonly ElementKey[] {
  return group.kind === 'peers' ? indexedPod.addresses : podKeys(group, indexedPod);
}

/**
 * Replaces the elements that a member put into the sets. Returns how many elements more the sets have; undefined if
 * nothing has changed.
 */
function put(
  { sets }: LiveGroup,
  before: readonly ElementKey[],
  keys: readonly ElementKey[],
): number | undefined {
  if (equalLists(before, keys, (a, b) => a === b)) return undefined;
  let more = 0;
  // Elements are added before others are deleted, so that one that stays never leaves the set.
  for (const key of keys) if (sets[familyOf(key as Address)].add(key)) more++;
  for (const key of before) if (sets[familyOf(key as Address)].delete(key)) more--;
  return more;
}

function differByLabelsAlone(a: IndexedPod, b: IndexedPod): boolean {
  return (
    equalLists(a.addresses, b.addresses, (x, y) => x === y) &&
    equalLists(a.pod.ports, b.pod.ports, equalPorts)
  );
}

function equalPorts(a: ContainerPort, b: ContainerPort): boolean {
  return a.name === b.name && a.protocol === b.protocol && a.port === b.port;
}

function equalLists<T>(a: readonly T[], b: readonly T[], equal: (a: T, b: T) => boolean): boolean {
  return a === b || (a.length === b.length && a.every((one, i) => equal(one, b[i]!)));
}
