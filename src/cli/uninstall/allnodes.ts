/**
 * Takes Sluice off every node of a cluster, in the order in which nothing is left behind:
 *
 *     agents are told to end ──▶ cleaners start where agents ran ──▶ each node is clean ──▶ cleaners go
 *
 * Both at once: a pod takes seconds to end and seconds to start. Each cleaner waits for its agent by what the agent leaves
 * on the node. Before that every agent was told to end, so that no kubelet starts one again which has ended. A node that is away keeps its cleaner waiting, which cleans it when it returns.
 */
import type { V1Pod } from '@kubernetes/client-node';
import { CommandError } from '../../terminal/commanderror.ts';
import type { AgentCluster } from './agentcluster.ts';
import { CLEANER, cleanerOf } from './cleaner.ts';

export const AGENTS = 'sluice';

export interface Removal {
  /** Names of nodes, sorted. */
  readonly cleaned: readonly string[];
  /** Nodes that did not answer in time, with what their pod says. */
  readonly missing: readonly string[];
}

export interface RemovalOptions {
  readonly cluster: AgentCluster;
  /** For each of the two waits, in milliseconds. */
  readonly patienceMs: number;
  readonly sleep: (ms: number) => Promise<unknown>;
  readonly now: () => number;
}

const POLL_MS = 100;

/** Throws CommandError where there is nothing to remove, or the API server refuses. */
export async function removeFromAllNodes(options: RemovalOptions): Promise<Removal> {
  const { cluster } = options;
  const agents = await cluster.daemonSet(AGENTS);
  if (agents !== undefined) {
    const cleaner = cleanerOf(agents); // before the agents go: it is made of their DaemonSet
    await cluster.delete(CLEANER); // of an earlier version
    await goneOf(CLEANER, options);
    await cluster.delete(AGENTS);
    await polling(options, async () => (await cluster.pods(AGENTS)).every(isToldToEnd));
    await cluster.create(cleaner);
  } else if ((await cluster.daemonSet(CLEANER)) === undefined)
    throw new CommandError(
      `there is no DaemonSet ${AGENTS} to remove: -n names another namespace, and on a node without an agent "sluice uninstall" removes what is left`,
    );
  const removal = removalOf(await cleanedPods(options));
  if (removal.missing.length > 0) return removal;
  await cluster.delete(CLEANER); // its pods have nothing left to do, and nobody needs to see them go
  return removal;
}

const isToldToEnd = ({ metadata }: V1Pod) => metadata?.deletionTimestamp !== undefined;

/** Until no pod is left, or patience ends. */
async function goneOf(name: string, options: RemovalOptions): Promise<void> {
  await polling(options, async () => (await options.cluster.pods(name)).length === 0);
}

/** The cleaner's pods when all are ready, or patience has ended. */
async function cleanedPods(options: RemovalOptions): Promise<readonly V1Pod[]> {
  let pods: readonly V1Pod[] = [];
  await polling(options, async () => {
    const wanted = (await options.cluster.daemonSet(CLEANER))?.status?.desiredNumberScheduled ?? 0;
    pods = await options.cluster.pods(CLEANER);
    return wanted > 0 && pods.length >= wanted && pods.every(isClean);
  });
  return pods;
}

async function polling(
  { patienceMs, sleep, now }: RemovalOptions,
  isDone: () => Promise<boolean>,
): Promise<void> {
  const endMs = now() + patienceMs;
  while (!(await isDone()) && now() < endMs) await sleep(POLL_MS);
}

function removalOf(pods: readonly V1Pod[]): Removal {
  const nodeOf = (pod: V1Pod) => pod.spec?.nodeName ?? pod.metadata?.name ?? 'a node';
  return {
    cleaned: pods.filter(isClean).map(nodeOf).sort(),
    missing: pods
      .filter(pod => !isClean(pod))
      .map(pod => `${nodeOf(pod)} (${stateOf(pod)})`)
      .sort(),
  };
}

/** Its first container has ended well, and the second runs. */
function isClean({ status }: V1Pod): boolean {
  return status?.conditions?.some(({ type, status }) => type === 'Initialized' && status === 'True') ?? false;
}

function stateOf({ status }: V1Pod): string {
  const { waiting, terminated } = status?.initContainerStatuses?.[0]?.state ?? {};
  return waiting?.reason ?? terminated?.message ?? terminated?.reason ?? status?.phase ?? 'no answer';
}
