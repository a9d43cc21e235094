/** The interface between the agent and its source, for every kind of source. */
import type { Logger } from 'pino';
import type { IsolatedPods } from '../../compiler/isolatedpods.ts';
import type { Unavailable } from '../../inputs/kube/report/conditionwriter.ts';
import type { EventSpec } from '../../inputs/kube/report/event.ts';
import type { ServiceListener } from '../../inputs/kube/watch/servicesource.ts';
import type { SourceStatus } from '../../inputs/kube/watch/source.ts';
import { getOrMake } from '../../lib/collections/getormake.ts';
import type { ClusterEvent } from '../../model/cluster.ts';
import { type Problem, problemText } from '../../model/problem.ts';

export interface AgentSource {
  /** Resolves when the state that was read may replace the rules in force, or when the signal aborts. */
  mayStart(stop: AbortSignal): Promise<void>;
  /** Settles when all there is was read. */
  readonly synced: Promise<void>;
  /** Whether the source could be read within the last so many milliseconds. */
  wasReadWithin(ms: number): boolean;
  /** Reports to the cluster, where there is one; never waits. */
  report(spec: EventSpec): void;
  /** Whether this node's network takes further pods, where there is a cluster; never waits. */
  reportNode(unavailable: Unavailable | undefined): void;
  close(): Promise<void>;
}

/** Further receivers of news about the source. */
export interface SourceWatcher {
  onProblems(problems: readonly Problem[]): void;
  onSource(status: SourceStatus): void;
}

/** The parts with which a source is opened. */
export interface SourceNeeds {
  readonly onEvents: (events: readonly ClusterEvent[]) => void;
  readonly watcher: SourceWatcher;
  /** Wants to know of Services too; nothing waits for them. */
  readonly services?: ServiceListener;
  /** The pods that were isolated by the rules that the agent found when it started. */
  readonly isolatedBefore: IsolatedPods;
  readonly log: Logger;
}

// Problems of objects: each new one is a line of the log, and the status has all of them.

export function reportToBoth(watcher: SourceWatcher, log: Logger): (problems: readonly Problem[]) => void {
  let logged = new Set<string>();
  return problems => {
    logged = logProblems(log, problems, logged);
    watcher.onProblems(problems);
  };
}

const problemTexts = new WeakMap<Problem, string>();

function textOf(problem: Problem): string {
  return getOrMake(problemTexts, problem, () => problemText(problem));
}

/** One line for each problem that is new; that all are mended is worth a line too. */
function logProblems(log: Logger, problems: readonly Problem[], before: ReadonlySet<string>): Set<string> {
  const texts = new Set<string>();
  for (const problem of problems) {
    const { severity, file, object, field } = problem;
    const text = textOf(problem);
    texts.add(text);
    if (!before.has(text)) log[severity === 'error' ? 'error' : 'warn']({ file, object, field }, text);
  }
  if (problems.length === 0) log.info({}, 'no problems in what was read any more');
  return texts;
}
