/** Where the agent's state comes from: a folder of manifests, or an API server. */
import { access } from 'node:fs/promises';
import type { Logger } from 'pino';
import { aborted } from '../async/aborted.ts';
import { realTiming } from '../async/timing.ts';
import { isolatedPodsIn } from '../compiler/isolatedpods.ts';
import type { ManifestWatch } from '../files/source.ts';
import type { Access, LoadAccess } from '../kube/client/access.ts';
import { findAccess } from '../kube/client/findaccess.ts';
import type { EventSpec } from '../kube/report/event.ts';
import type { Unavailable } from '../kube/report/nodecondition.ts';
import { type SourceStatus, watchCluster } from '../kube/watch/source.ts';
import type { ClusterEvent } from '../model/cluster.ts';
import { type Problem, problemText } from '../model/problem.ts';
import type { NetworkError } from '../network/error.ts';
import { CommandError } from '../terminal/commanderror.ts';
import { madeFrom, readRulesInForce } from './rulesinforce.ts';
import { StartCondition } from './startcondition.ts';

export interface SourceOptions {
  readonly node: string;
  readonly manifests?: string;
  readonly kubeconfig?: string;
}

export interface AgentSource {
  /** Settles when what was read may replace the rules in force, or at the signal. */
  mayStart(stop: AbortSignal): Promise<void>;
  /** Settles when all there is was read. */
  readonly synced: Promise<void>;
  /** Reports to the cluster, where there is one; never waits. */
  report(notice: EventSpec): void;
  /** Whether this node's network takes further pods, where there is a cluster; never waits. */
  reportNode(unavailable: Unavailable | undefined): void;
  close(): Promise<void>;
}

/** Who else wants to know how the source is. */
export interface SourceWatcher {
  onProblems(problems: readonly Problem[]): void;
  onSource(status: SourceStatus): void;
}

export async function openSource(
  { node, manifests, kubeconfig }: SourceOptions,
  onEvents: (events: readonly ClusterEvent[]) => void,
  watcher: SourceWatcher,
  log: Logger,
): Promise<AgentSource> {
  return manifests === undefined
    ? openApiServer(node, kubeconfig, onEvents, watcher, log)
    : openManifests(manifests, onEvents, watcher, log);
}

async function openApiServer(
  node: string,
  kubeconfig: string | undefined,
  onEvents: (events: readonly ClusterEvent[]) => void,
  watcher: SourceWatcher,
  log: Logger,
): Promise<AgentSource> {
  const load = await findAccess(kubeconfig, process.env);
  if (load === undefined) throw new CommandError(NO_CLUSTER);
  const access = await load().catch(error => {
    throw new CommandError((error as Error).message);
  });
  log.info({ server: access.server }, 'reading the cluster');
  const isolated = isolatedPodsIn(await readRulesInForce());
  const onProblems = reportToBoth(watcher, log);
  const condition = new StartCondition({
    rulesInForce: async () => madeFrom(await readRulesInForce()),
    log,
    timing: realTiming,
  });
  const onSource = (status: SourceStatus) => {
    condition.onSource(status);
    logStatus(log, status);
    watcher.onSource(status);
  };
  const onEventTrouble = (reason: string) =>
    log.warn({}, `problems cannot be reported by Events, only here and by sluice status: ${reason}`);
  const onConditionTrouble = (reason: string) =>
    log.warn(
      {},
      `whether the network takes pods cannot be reported to the Node, it is tried again: ${reason}`,
    );
  const { ready, report, reportNode, close } = watchCluster(
    startingWith(access, load),
    { onEvents, onProblems, onSource },
    { node, isolated, onEventTrouble, onConditionTrouble },
  );
  return {
    mayStart: stop => condition.mayStart(ready, stop),
    synced: ready,
    report,
    reportNode,
    close,
  };
}

/** What is known already, then what the files say: to read a kubeconfig takes a second. */
function startingWith(first: Access, load: LoadAccess): LoadAccess {
  let known: Access | undefined = first;
  return async () => {
    const access = known ?? (await load());
    known = undefined;
    return access;
  };
}

const NO_CLUSTER =
  'no cluster to read: outside of a pod, name one by --kubeconfig or KUBECONFIG, or a folder by --manifests';

function logStatus(log: Logger, { source, version, state, reason }: SourceStatus): void {
  if (state === 'lost')
    log.error({ source, version }, `${source}: cannot be read, what was last known stays; ${reason}`);
  else log.info({ source, version }, `${source}: ${STATUS_TEXTS[state]}`);
}

const STATUS_TEXTS = {
  synced: 'read',
  recovered: 'can be read again',
  absent: 'not served by this cluster, so there are none',
};

async function openManifests(
  root: string,
  onEvents: (events: readonly ClusterEvent[]) => void,
  watcher: SourceWatcher,
  log: Logger,
): Promise<AgentSource> {
  await access(root).catch(error => {
    throw new CommandError(`cannot read --manifests ${root}: ${(error as Error).message}`);
  });
  const { watchManifests } = await import('../files/source.ts'); // its libraries would be 8 MB of every agent
  const onProblems = reportToBoth(watcher, log);
  const watch = watchManifests(root, { onEvents, onProblems });
  return {
    mayStart: stop => wholeOrNothingToLose(watch, log, stop),
    synced: watch.ready.then(() => {}),
    report: () => {},
    reportNode: () => {},
    close: () => watch.close(),
  };
}

/**
 * Waits until the manifests may replace the rules in force. A file that cannot be read at the very start may have said
 * "deny" to the agent before us: its rules stay until the file can be read. Where there are no rules, what can be
 * read is better than nothing.
 */
async function wholeOrNothingToLose(source: ManifestWatch, log: Logger, stop: AbortSignal): Promise<void> {
  const { complete } = await source.ready;
  if (complete || (await readRulesInForce()).tables.size === 0) return;
  log.error({}, 'some manifests cannot be read yet; the rules in force stay as they are until they can');
  await Promise.race([source.whole, aborted(stop)]);
}

function reportToBoth(watcher: SourceWatcher, log: Logger): (problems: readonly Problem[]) => void {
  let logged = new Set<string>();
  return problems => {
    logged = logProblems(log, problems, logged);
    watcher.onProblems(problems);
  };
}

const problemTexts = new WeakMap<Problem, string>();

function textOf(problem: Problem): string {
  const text = problemTexts.get(problem) ?? problemText(problem);
  problemTexts.set(problem, text);
  return text;
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

/** What is reported of the Node. */
export function networkCondition(unavailable: NetworkError | undefined): Unavailable | undefined {
  if (unavailable === undefined) return undefined;
  const reason = unavailable.code === 'exhausted' ? 'PodAddressesExhausted' : 'PodNetworkNotReady';
  return { reason, message: `${unavailable.message}: further pods must wait, running ones stay as they are` };
}
