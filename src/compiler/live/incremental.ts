/**
 * The desired state of one node, updated event by event. After every flush it is equal to `compile` of the same
 * cluster, in whatever order the events came and wherever the flushes were between them.
 *
 *     apply(event)  updates the cluster, and marks what the event may affect
 *     flush()       moves marked pods between groups and classes; what did not change stays the same object
 *
 * A flush can run in pieces, between which other tasks use the event loop. It uses the cluster as it was when the flush
 * began: events that are applied meanwhile wait for its end. The steps of a flush, in this order:
 *
 *     policies ─▶ LivePlacements ───────────────┐ which classes pods belong to
 *     pods ─────▶ LivePods ─▶ PodIndex ─▶ LiveGroups, the sets of peers
 *                    │ changed pods             ▼
 *                    └─────────────▶ LocalMoves ─▶ LiveClasses, the chains
 *     nodes ────▶ LiveBases, LiveLinkPart, LiveRemotePods, podPortsTable: what every node has
 *     names ────▶ LiveNames
 *     then ─────▶ LivePreparations: what later changes need, as far as there is time
 */

import { type Pieces, wholeOf } from '../../lib/collections/pieces.ts';
import { FAMILIES, type Family } from '../../model/address.ts';
import { type Cluster, type ClusterEvent, ClusterState, type PodKey } from '../../model/cluster.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { PodLinks } from '../../model/podlinks.ts';
import { type Policy, type PolicyId, withoutRules } from '../../model/policy.ts';
import type { PolicyChange } from '../../model/policychange.ts';
import type { Subjects } from '../../names/subjects.ts';
import { type Op, objectOf } from '../../nft/plan/op.ts';
import type { NftSet, Ruleset, Table } from '../../nft/ruleset.ts';
import { podMaps } from '../compile.ts';
import type { DnsQueue } from '../namespeers.ts';
import { podPortsTable } from '../podports.ts';
import { withoutMarks } from '../tunnelnodes.ts';
import { LiveClasses } from './classes.ts';
import { LiveGroups } from './groups/groups.ts';
import { LIMITS, type Limits } from './limits.ts';
import { LiveTables } from './livetables.ts';
import { LocalMoves } from './localmoves.ts';
import { LiveNames } from './names.ts';
import { LiveAttachedPods, LiveBases, LiveLinkPart, LiveRemotePods } from './nodeparts.ts';
import { LivePlacements, NO_MOVES } from './placements.ts';
import { LivePods } from './pods/livepods.ts';
import { type IndexedPod, PodIndex } from './pods/podindex.ts';
import { PodPreparations } from './preparations/podpreparations.ts';
import { PolicyPreparations } from './preparations/policypreparations.ts';
import { LivePreparations } from './preparations/preparations.ts';
import { LiveTunnels } from './tunnels.ts';
import { type TimeBudget, UNLIMITED_TIME, workBudget } from './workbudget.ts';

export class Incremental {
  /** The cluster with every event that was applied, also during a flush. */
  readonly #latest = new ClusterState();
  readonly cluster: Cluster = this.#latest;
  /** The cluster that the flush in progress compiles: it does not change between two pieces. */
  readonly #state = new ClusterState();
  readonly #node: string;
  readonly #podIndex: PodIndex;
  readonly #groups: LiveGroups;
  readonly #livePods: LivePods;
  readonly #mostLookups: number;
  readonly #classes: LiveClasses;
  readonly #placements: LivePlacements;
  readonly #moves: LocalMoves;
  readonly #tunnels: LiveTunnels;
  readonly #preparations: LivePreparations;
  readonly #comingPolicies: PolicyPreparations;
  readonly #unknownPods: UnknownPods;
  /** Only for a node whose pods this agent attaches. */
  readonly #attachedPods: LiveAttachedPods | undefined;
  readonly #remotePods: LiveRemotePods;
  #portsText: string | undefined;
  #bridge: Table | undefined;
  readonly #bases: LiveBases;
  readonly #linkPart: LiveLinkPart;
  #podMaps: Record<Family, readonly NftSet[]>;
  readonly #names: LiveNames;
  readonly #tables = new LiveTables();
  #marked = emptyMarks();
  #isFlushing = false;
  #late: ClusterEvent[] = [];
  #flushed: Ruleset | undefined;
  /** The chains and sets that every node has may have changed since they were put into the tables. */
  #isNodesPartOld = true;

  /** Without `dnsQueue`, rules by name match nothing. */
  constructor(
    node: string,
    unknownPods: UnknownPods = 'allow',
    podLinks: PodLinks = 'others',
    dnsQueue?: DnsQueue,
    limits: Partial<Limits> = {},
  ) {
    const { mostLookups, room, patience, mostEntries, stagesPrepared, denials } = { ...LIMITS, ...limits };
    this.#node = node;
    this.#unknownPods = unknownPods;
    this.#bases = new LiveBases(this.#state, { node, unknownPods, podLinks, limits: denials });
    this.#attachedPods = podLinks === 'ours' ? new LiveAttachedPods(this.#state, node) : undefined;
    this.#linkPart = new LiveLinkPart(this.#state, node);
    this.#podIndex = new PodIndex(this.#state, node);
    this.#remotePods = new LiveRemotePods(this.#podIndex, node);
    this.#groups = new LiveGroups(this.#state, this.#podIndex, room);
    this.#mostLookups = mostLookups;
    this.#names = new LiveNames(dnsQueue);
    this.#classes = new LiveClasses(this.#groups, dnsQueue !== undefined);
    this.#placements = new LivePlacements(this.#state, this.#classes);
    const live = {
      state: this.#state,
      podIndex: this.#podIndex,
      groups: this.#groups,
      classes: this.#classes,
      placements: this.#placements,
      node,
    };
    this.#moves = new LocalMoves(live);
    this.#tunnels = new LiveTunnels(live);
    this.#preparations = new LivePreparations(this.#groups, this.#classes, stagesPrepared);
    this.#comingPolicies = new PolicyPreparations(live, this.#preparations, mostEntries);
    const comingPods = new PodPreparations(live, this.#preparations, patience);
    this.#livePods = new LivePods(this.#state, this.#podIndex, this.#groups, node, comingPods);
    this.#podMaps = this.#makePodMaps();
  }

  /** The pods that have rules by name, as of the last flush; the same object until that changes. */
  get namesSubjects(): Subjects {
    return this.#names.subjects;
  }

  /** Whether a policy of the cluster has rules by name. */
  get isNaming(): boolean {
    return this.#names.isNaming;
  }

  apply(event: ClusterEvent): void {
    this.#latest.apply(event);
    if (this.#isFlushing) this.#late.push(event);
    else this.#take(event);
  }

  #take(event: ClusterEvent): void {
    this.#state.apply(event);
    this.#marked[event.type].add(event.key as never);
  }

  prepare(changes: readonly PolicyChange[]): void {
    this.#comingPolicies.want(changes);
  }

  countLookedAt(change: PolicyChange): number {
    return this.#comingPolicies.countLookedAt(change);
  }

  isOversized(namespace: string): boolean {
    return this.#comingPolicies.isOversized(namespace);
  }

  isPrepared(change: PolicyChange): boolean {
    return this.#comingPolicies.isReady(change);
  }

  /** The policies of all classes that use the object of this operation. */
  policiesBehind(op: Op): readonly PolicyId[] {
    const name = objectOf(op);
    return name === undefined || op.family === 'bridge' ? [] : this.#classes.policiesBehind(op.family, name);
  }

  /**
   * Whether no packet reaches the object of this operation, because it is only staged for a later change. Without an
   * operation: whether any object is staged.
   */
  isStaged(op?: Op): boolean {
    if (op === undefined) return this.#classes.hasStaged;
    const name = objectOf(op);
    return name !== undefined && op.family !== 'bridge' && this.#classes.isStaged(op.family, name);
  }

  /** Flushes all events; the same ruleset object if nothing has changed since the last flush. */
  flush(): Ruleset {
    for (;;) {
      const flushed = wholeOf(this.flushInPieces());
      if (!this.isBehind()) return flushed;
    }
  }

  /**
   * Whether a later flush has something left to do: changes of pods that wait, or policies that are not prepared. The
   * ruleset is as if those changes had not been made yet.
   */
  isBehind(): boolean {
    return this.#livePods.isBehind || this.#preparations.isBehind;
  }

  /**
   * The policies, as they were applied, that flushes have refused since the last call because the set quota has no
   * room. In `cluster` they have no rules, and isolate what they select.
   */
  takeRefused(): readonly Policy[] {
    return this.#moves.takeRefused().map(withoutMarks);
  }

  waitingPods(): ReadonlyMap<PodKey, IndexedPod | undefined> {
    return this.#livePods.waiting();
  }

  /**
   * Flushes in pieces of a few milliseconds. Only one flush may run at a time, and it has to be run to its end. While
   * an event waits for the next flush, work that can wait is left for later flushes.
   */
  *flushInPieces(timeBudget = UNLIMITED_TIME): Pieces<Ruleset> {
    if (this.#flushed !== undefined && isNothing(this.#marked) && !this.isBehind()) return this.#flushed;
    this.#flushed = undefined; // the last ruleset is outdated until the flush has ended
    this.#isFlushing = true;
    try {
      const marked = this.#marked;
      this.#marked = emptyMarks();
      yield* this.#takeIn(marked, timeBudget);
    } finally {
      this.#isFlushing = false;
      const late = this.#late;
      this.#late = [];
      for (const event of late) this.#take(event);
    }
    this.#flushed = this.#assemble();
    return this.#flushed;
  }

  *#takeIn(marked: Marks, timeBudget: TimeBudget): Pieces<void> {
    const { tunnels } = this.#podIndex;
    if (tunnels.nodes.size > 0 || marked.node.size > 0 || hasClusterPolicy(marked.policy))
      this.#tunnels.take(marked);
    const budget = workBudget(this.#mostLookups, timeBudget, marked.policy.size > 0);
    // Pods move to their new classes by these.
    const moves = marked.policy.size === 0 ? NO_MOVES : this.#placements.changePolicies(marked.policy);
    const pods = yield* this.#livePods.take(marked, budget);
    if (tunnels.nodes.size + tunnels.watched.size > 0) this.#tunnels.takePods(pods);
    const renewed = marked.node.size > 0 && this.#refreshNodes(marked.node);
    // `pods` is included, because pods that are gone are no longer in the state.
    const candidates = renewed ? new Set([...this.#state.pods.keys(), ...pods]) : pods;
    const remoteChanged =
      this.#unknownPods === 'deny' && this.#remotePods.refresh(candidates, this.#bases.denied);
    if (marked.hostPort.size > 0) this.#attachedPods?.refreshHostPorts();
    const { moved, refused } = yield* this.#moves.placeAll(pods, moves);
    if (moved || remoteChanged) this.#podMaps = this.#makePodMaps();
    for (const policy of refused) this.#followRefused(policy);
    const changed = new Set([...marked.policy, ...refused.map(({ id }) => id)]);
    const flipped = changed.size > 0 && this.#names.refreshPolicies(changed, this.#state);
    if (moved || flipped || renewed) this.#followNames(flipped || renewed);
    this.#isNodesPartOld ||= moved || remoteChanged || flipped || marked.node.size + marked.hostPort.size > 0;
    yield* this.#preparations.advance(budget);
  }

  /** Returns whether the base chains have changed. */
  #refreshNodes(names: ReadonlySet<string>): boolean {
    const renewed = names.has(this.#node) && this.#bases.renew(this.#names.answers);
    if (names.has(this.#node)) this.#renewBridge();
    this.#linkPart.refreshNodes(names);
    this.#attachedPods?.refreshNodes(names);
    return renewed;
  }

  /** A refused policy has no rules for readers of `cluster` either, unless a later version has arrived. */
  #followRefused(policy: Policy): void {
    const isLatest = this.#latest.policies.get(policy.id) === withoutMarks(policy);
    const value = withoutRules(policy, 'no room');
    if (isLatest) this.#latest.apply({ type: 'policy', key: policy.id, value });
  }

  #followNames(anew: boolean): void {
    const groups = this.#groups.names();
    if (this.#names.refresh(this.#placements.all(), groups, this.#bases.network, anew))
      this.#bases.make(this.#names.answers);
  }

  /** Ports of a bridge change with its pods; they affect the bridge table only. */
  #renewBridge(): void {
    const { links } = this.#state.nodes.get(this.#node) ?? {};
    const text = JSON.stringify([links?.podPorts, links?.bridgePorts]);
    if (text === this.#portsText) return;
    this.#portsText = text;
    this.#bridge = podPortsTable(links, this.#unknownPods);
  }

  #makePodMaps(): Record<Family, readonly NftSet[]> {
    const placements = this.#placements.all();
    const local = this.#unknownPods === 'deny' ? this.#podIndex.local() : [];
    const known = [...local, ...this.#remotePods.all()];
    return { ip: podMaps(placements, known, 'ip'), ip6: podMaps(placements, known, 'ip6') };
  }

  #assemble(): Ruleset {
    if (this.#isNodesPartOld) this.#putNodesPart();
    this.#classes.flushInto(this.#tables);
    this.#groups.flushInto(this.#tables);
    return this.#tables.ruleset(this.#bridge);
  }

  #putNodesPart(): void {
    this.#isNodesPartOld = false;
    for (const family of FAMILIES) {
      this.#tables.setPart(family, 'base', {
        chains: this.#bases.chains(family),
        sets: this.#podMaps[family],
      });
      this.#tables.setPart(family, 'nodes', this.#linkPart.part(family));
      this.#tables.setPart(family, 'names', this.#names.part(family));
    }
    this.#attachedPods?.flushInto(this.#tables);
  }
}

/** Only such may deny or pass nodes. */
function hasClusterPolicy(ids: ReadonlySet<PolicyId>): boolean {
  for (const id of ids) if (!id.startsWith('NetworkPolicy ')) return true;
  return false;
}

/** The objects that events have changed since the last flush. */
function emptyMarks() {
  return {
    pod: new Set<PodKey>(),
    namespace: new Set<string>(),
    node: new Set<string>(),
    policy: new Set<PolicyId>(),
    hostPort: new Set<string>(),
  };
}

export type Marks = Readonly<ReturnType<typeof emptyMarks>>;

function isNothing(marks: Marks): boolean {
  for (const { size } of Object.values(marks)) if (size > 0) return false;
  return true;
}
