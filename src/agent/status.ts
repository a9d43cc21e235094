/** The state of the agent, derived from observing it; health, metrics and `sluice status` read it. */

import { errorText } from '../lib/text/errortext.ts';
import type { Address } from '../model/address.ts';
import {
  type Cluster,
  type ClusterEvent,
  ClusterState,
  isSelectable,
  type Pod,
  type PodKey,
} from '../model/cluster.ts';
import type { PolicyId } from '../model/policy.ts';
import {
  isQuarantined,
  type LastingStatus,
  type PolicyStatus,
  type QuarantinedPolicy,
  quarantineProblem,
  type WaitingPolicy,
} from '../model/policystatus.ts';
import type { Problem } from '../model/problem.ts';
import type { Committed } from './committed.ts';
import { type Age, Backlog } from './latency.ts';
import type { Observer } from './observer.ts';

interface PodsWaiting {
  /** Pods whose changes the last commit has left for another one, and some of them. */
  readonly waitingPods: number;
  readonly waitingPodNames: readonly PodKey[];
}

interface PoliciesWaiting {
  /** Policies whose changes wait for their turn, the age of the oldest, and those that have waited longest. */
  readonly waitingPolicies: number;
  readonly waitingPoliciesMs: number;
  readonly waitingPolicyNames: readonly PolicyId[];
}

/** Times are milliseconds since 1970; ages and durations are milliseconds. */
export interface AgentStatus extends PodsWaiting, PoliciesWaiting {
  readonly node: string;
  readonly startedAtMs: number;
  /** Every source has listed all that it holds. */
  readonly synced: boolean;
  /** When the kernel was last found or made equal to the desired state, in which pods that wait are as they were. */
  readonly equalAtMs?: number;
  /** When the kernel was last dumped completely. */
  readonly readAtMs?: number;
  readonly lastEventAtMs?: number;
  /** Newest first. */
  readonly commits: readonly CommitRecord[];
  /** Attempts that failed since the last one that did not. */
  readonly failuresInARow: number;
  readonly lastError?: string;
  readonly lastDriftAtMs?: number;
  /** Events that are on their way into the kernel, and the age of the oldest. */
  readonly pending: number;
  readonly lagMs: number;
  /** The age of the oldest change of a pod that waits. */
  readonly waitingMs: number;
  readonly problems: readonly Problem[];
  /** The status of each policy that is not in force as written; those whose changes wait come first. */
  readonly policies: readonly PolicyStatus[];
  /** The policies that the kernel refuses, or for which there is no room. */
  readonly quarantined: readonly QuarantinedPolicy[];
  /** Sources that cannot be read at present. */
  readonly lostSources: readonly string[];
  readonly objects: ObjectCounts;
  readonly totals: Totals;
}

export interface CommitRecord {
  readonly atMs: number;
  readonly operations: number;
  readonly tookMs: number;
  readonly names: readonly string[];
  /** Whether the commit repaired what another process, or a failed attempt, may have changed. */
  readonly repairs: boolean;
}

/** The message Objects of sluice.proto has the same fields. */
export interface ObjectCounts {
  readonly namespaces: number;
  readonly nodes: number;
  readonly pods: number;
  readonly policies: number;
  /** Policies that are not in force. */
  readonly audited: number;
}

/** The message Totals of sluice.proto has the same fields: `sluice status` gets them from there. */
export interface Totals {
  readonly commits: number;
  readonly failures: number;
  readonly operations: number;
  readonly drifts: number;
}

export interface SourceState {
  readonly source: string;
  readonly state: string;
  readonly reason?: string;
}

export interface ProgrammedPod {
  readonly pod: Pod;
  /** When the pod's rules came into force; absent until then. */
  readonly sinceMs?: number;
}

export interface Clocks {
  /** Milliseconds since 1970. */
  readonly date: () => number;
  /** Milliseconds of a clock that never jumps. */
  readonly now: () => number;
}

/** How many of the waiting objects are listed. */
const MOST_WAITING_NAMES = 5;
const MOST_COMMITS = 20;
const MOST_NAMES = 20;
const MOST_UNREAD_AGES = 10_000;
const REAL_CLOCKS: Clocks = { date: Date.now, now: () => performance.now() };

export class StatusKeeper implements Observer {
  /** Settled when the first rules are programmed, or were found to be. */
  readonly firstProgrammed: Promise<void>;
  readonly #firstProgrammed = Promise.withResolvers<void>();
  readonly #node: string;
  readonly #clocks: Clocks;
  readonly #startedAtMs: number;
  readonly #backlog = new Backlog();
  readonly #since = new Map<PodKey, number>();
  /** Local pods of which something is not in the kernel yet. */
  readonly #touched = new Set<PodKey>();
  #taken: PodKey[] = [];
  #cluster: Cluster = new ClusterState();
  #commits: readonly CommitRecord[] = [];
  #totals = { commits: 0, failures: 0, operations: 0, drifts: 0 };
  #synced = false;
  #equalAtMs: number | undefined;
  #readAtMs: number | undefined;
  #lastEventAtMs: number | undefined;
  #lastDriftAtMs: number | undefined;
  #lastError: string | undefined;
  #failuresInARow = 0;
  #waitingPods: Committed['waitingPods'] = new Set();
  #waitingPolicies: readonly WaitingPolicy[] = [];
  #problems: readonly Problem[] = [];
  #lastingStatuses: readonly LastingStatus[] = [];
  readonly #lost = new Map<string, string>();
  /** How often a source could be read again after it could not. */
  watchRestarts = 0;
  #ages: Age[] = [];

  constructor(node: string, clocks: Clocks = REAL_CLOCKS) {
    this.firstProgrammed = this.#firstProgrammed.promise;
    this.#node = node;
    this.#clocks = clocks;
    this.#startedAtMs = clocks.date();
  }

  get cluster(): Cluster {
    return this.#cluster;
  }

  status(): AgentStatus {
    const { namespaces, nodes, pods, policies, audited } = this.#cluster;
    const quarantined = this.#lastingStatuses.filter(isQuarantined);
    return {
      node: this.#node,
      startedAtMs: this.#startedAtMs,
      synced: this.#synced,
      ...given('equalAtMs', this.#equalAtMs),
      ...given('readAtMs', this.#readAtMs),
      ...given('lastEventAtMs', this.#lastEventAtMs),
      ...given('lastError', this.#lastError),
      ...given('lastDriftAtMs', this.#lastDriftAtMs),
      commits: this.#commits,
      failuresInARow: this.#failuresInARow,
      pending: this.#backlog.size,
      lagMs: this.#backlog.lagMs(this.#clocks.now()),
      waitingMs: this.#backlog.waitingMs(this.#clocks.now()),
      ...waitingPods(this.#waitingPods),
      ...waitingPolicies(this.#waitingPolicies, this.#clocks.now()),
      problems: [...this.#problems, ...quarantined.map(quarantineProblem)],
      policies: [...this.#waitingPolicies, ...this.#lastingStatuses],
      quarantined,
      lostSources: [...this.#lost.keys()],
      objects: {
        namespaces: namespaces.size,
        nodes: nodes.size,
        pods: pods.size,
        policies: policies.size,
        audited: audited?.size ?? 0,
      },
      totals: { ...this.#totals },
    };
  }

  /** A pod of this node, and since when its rules are in the kernel. */
  pod(key: PodKey): ProgrammedPod | undefined {
    const pod = this.#cluster.pods.get(key);
    if (pod === undefined || pod.node !== this.#node) return undefined;
    const isPending = this.#touched.has(key) || this.#taken.includes(key);
    return { pod, ...given('sinceMs', isPending ? undefined : this.#since.get(key)) };
  }

  /** The addresses of this node's pods. */
  localAddresses(): Address[] {
    const pods = [...this.#cluster.pods.values()];
    return pods.filter(pod => pod.node === this.#node && isSelectable(pod)).flatMap(pod => pod.addresses);
  }

  /** Ages of the events that have come into the kernel since the last call. */
  takeAges(): Age[] {
    const ages = this.#ages;
    this.#ages = [];
    return ages;
  }

  setSynced(): void {
    this.#synced = true;
  }

  onProblems(problems: readonly Problem[]): void {
    this.#problems = problems;
  }

  onSource({ source, state, reason }: SourceState): void {
    if (state === 'lost') this.#lost.set(source, reason ?? 'no reason given');
    else this.#lost.delete(source);
    if (state === 'recovered') this.watchRestarts++;
  }

  noted(events: readonly ClusterEvent[]): void {
    this.#lastEventAtMs = this.#clocks.date();
    this.#backlog.noted(events, this.#clocks.now());
    for (const event of events) if (event.type === 'pod') this.#touched.add(event.key);
  }

  committing(waiting: readonly WaitingPolicy[] = []): void {
    this.#backlog.take(waiting.map(({ sinceMs }) => sinceMs));
    this.#waitingPolicies = waiting;
    for (const key of this.#touched) this.#taken.push(key);
    this.#touched.clear();
  }

  committed({
    cluster,
    ops,
    names,
    tookMs,
    dumped,
    waitingPods: left,
    unknownBefore = false,
  }: Pick<Committed, 'cluster' | 'ops' | 'names' | 'tookMs' | 'dumped' | 'waitingPods'> &
    Partial<Pick<Committed, 'unknownBefore'>>): void {
    const atMs = this.#clocks.date();
    this.#cluster = cluster;
    this.#equalAtMs = atMs;
    if (dumped) this.#readAtMs = atMs;
    this.#failuresInARow = 0;
    this.#waitingPods = left;
    // Only the newest ages are kept, because a scrape may never come.
    const ages = this.#backlog.arrived(this.#clocks.now(), left);
    this.#ages = [...this.#ages, ...ages].slice(-MOST_UNREAD_AGES);
    for (const key of this.#taken) this.#programmed(key, atMs);
    this.#taken = [];
    this.#firstProgrammed.resolve();
    if (ops.length > 0) this.#record({ atMs, operations: ops.length, tookMs, names, repairs: unknownBefore });
  }

  failed(error: unknown): void {
    this.#totals.failures++;
    this.#failuresInARow++;
    this.#lastError = errorText(error);
  }

  drifted(): void {
    this.#totals.drifts++;
    this.#lastDriftAtMs = this.#clocks.date();
  }

  policyStatuses(statuses: readonly LastingStatus[]): void {
    this.#lastingStatuses = statuses;
  }

  #programmed(key: PodKey, atMs: number): void {
    const pod = this.#cluster.pods.get(key);
    const isProgrammed = pod?.node === this.#node && isSelectable(pod) && pod.addresses.length > 0;
    if (!isProgrammed) this.#since.delete(key);
    else if (!this.#since.has(key)) this.#since.set(key, atMs);
  }

  #record(commit: CommitRecord): void {
    const kept = { ...commit, names: commit.names.slice(0, MOST_NAMES) };
    this.#commits = [kept, ...this.#commits.slice(0, MOST_COMMITS - 1)];
    this.#totals.commits++;
    this.#totals.operations += commit.operations;
  }
}

function given<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]: V });
}

function waitingPods(pods: Committed['waitingPods']): PodsWaiting {
  return { waitingPods: pods.size, waitingPodNames: firstFew(pods.keys()) };
}

/** The first one has waited longest. */
function waitingPolicies(deferred: readonly WaitingPolicy[], nowMs: number): PoliciesWaiting {
  const [first] = deferred;
  return {
    waitingPolicies: deferred.length,
    waitingPoliciesMs: first === undefined ? 0 : nowMs - first.sinceMs,
    waitingPolicyNames: firstFew(deferred).map(({ id }) => id),
  };
}

function firstFew<T>(values: Iterable<T>): T[] {
  const few: T[] = [];
  for (const value of values) {
    if (few.length === MOST_WAITING_NAMES) break;
    few.push(value);
  }
  return few;
}
