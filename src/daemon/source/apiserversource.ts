/** The state of an API server. */
import type { Logger } from 'pino';
import type { Access, LoadAccess } from '../../inputs/kube/client/access.ts';
import { findAccess } from '../../inputs/kube/client/findaccess.ts';
import { PODS } from '../../inputs/kube/watch/resource.ts';
import { type SourceStatus, watchCluster } from '../../inputs/kube/watch/source.ts';
import { realTiming } from '../../lib/async/timing.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { type AgentSource, reportToBoth, type SourceNeeds } from './agentsource.ts';
import { madeFrom, readRulesInForce, StartCondition } from './startcondition.ts';

export async function openApiServer(
  node: string,
  kubeconfig: string | undefined,
  { onEvents, watcher, services, isolatedBefore, log }: SourceNeeds,
): Promise<AgentSource> {
  const load = await readAccess(kubeconfig, log);
  const condition = startCondition(log);
  const readability = new Readability();
  const onSource = (status: SourceStatus) => {
    condition.onSource(status);
    readability.onSource(status, performance.now());
    logStatus(log, status);
    watcher.onSource(status);
  };
  const { ready, report, reportNode, close } = watchCluster(
    load,
    { onEvents, onProblems: reportToBoth(watcher, log), onSource },
    { node, isolated: isolatedBefore, ...(services && { services }), ...logTrouble(log) },
  );
  const mayStart = (stop: AbortSignal) => condition.mayStart(ready, stop);
  const wasReadWithin = (ms: number) => readability.wasReadWithin(ms, performance.now());
  return { mayStart, wasReadWithin, synced: ready, report, reportNode, close };
}

/** Throws CommandError where there is no cluster, or its kubeconfig cannot be read. */
async function readAccess(kubeconfig: string | undefined, log: Logger): Promise<LoadAccess> {
  const load = await findAccess(kubeconfig, process.env);
  if (load === undefined) throw new CommandError(NO_CLUSTER);
  const access = await load().catch(error => {
    throw new CommandError((error as Error).message);
  });
  log.info({ server: access.server }, 'reading the cluster');
  return startingWith(access, load);
}

function startCondition(log: Logger): StartCondition {
  const rulesInForce = async () => madeFrom(await readRulesInForce());
  return new StartCondition({ rulesInForce, log, timing: realTiming });
}

/** Logs requests of ours that the API server refuses. */
function logTrouble(log: Logger) {
  return {
    onEventTrouble: (reason: string) =>
      log.warn({}, `problems cannot be reported by Events, only here and by sluice status: ${reason}`),
    onConditionTrouble: (reason: string) =>
      log.warn(
        {},
        `whether the network takes pods cannot be reported to the Node, it is tried again: ${reason}`,
      ),
  };
}

/** Returns the access that is known already, then what the files say: reading a kubeconfig takes a second. */
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

/** The time since which the cluster cannot be read. Pods are the measure, because every agent reads them. */
export class Readability {
  /** The time of the last successful read, if it is known; 'now' while reading works. */
  #readAtMs: number | 'now' | 'never' = 'never';

  onSource({ source, state }: SourceStatus, nowMs: number): void {
    if (source !== PODS.kind) return;
    if (state === 'synced' || state === 'recovered') this.#readAtMs = 'now';
    else if (this.#readAtMs === 'now') this.#readAtMs = nowMs;
  }

  /** Whether the cluster was read within the last so many milliseconds. */
  wasReadWithin(ms: number, nowMs: number): boolean {
    if (typeof this.#readAtMs === 'string') return this.#readAtMs === 'now';
    return nowMs - this.#readAtMs <= ms;
  }
}
