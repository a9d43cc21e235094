/** What the agent has of its source, whichever it is, and what the source has of the agent. */
import type { Logger } from 'pino';
import type { IsolatedPods } from '../../compiler/isolatedpods.ts';
import type { Unavailable } from '../../inputs/kube/report/conditionwriter.ts';
import type { EventSpec } from '../../inputs/kube/report/event.ts';
import type { ServiceListener } from '../../inputs/kube/watch/servicesource.ts';
import type { SourceStatus } from '../../inputs/kube/watch/source.ts';
import type { ClusterEvent } from '../../model/cluster.ts';
import type { Problem } from '../../model/problem.ts';

export interface AgentSource {
  /** Settles when what was read may replace the rules in force, or at the signal. */
  mayStart(stop: AbortSignal): Promise<void>;
  /** Settles when all there is was read. */
  readonly synced: Promise<void>;
  /** Whether it could be read at some time of the last so many milliseconds. */
  wasReadWithin(ms: number): boolean;
  /** Reports to the cluster, where there is one; never waits. */
  report(spec: EventSpec): void;
  /** Whether this node's network takes further pods, where there is a cluster; never waits. */
  reportNode(unavailable: Unavailable | undefined): void;
  close(): Promise<void>;
}

/** Who else wants to know how the source is. */
export interface SourceWatcher {
  onProblems(problems: readonly Problem[]): void;
  onSource(status: SourceStatus): void;
}

/** What a source is opened with. */
export interface SourceNeeds {
  readonly onEvents: (events: readonly ClusterEvent[]) => void;
  readonly watcher: SourceWatcher;
  /** Wants to know of Services too; nothing waits for them. */
  readonly services?: ServiceListener;
  /** By the rules that the agent found when it started. */
  readonly isolatedBefore: IsolatedPods;
  readonly log: Logger;
}
