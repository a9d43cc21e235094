/**
 * Removes Sluice from every node of a cluster, in an order that leaves nothing behind:
 *
 *     cleaners are parked ──▶ agents get the order to end ──▶ cleaners start where agents ran ──▶ nodes are clean ──▶
 * cleaners go
 *
 * Agents end while cleaners start: a pod takes seconds for either, and each cleaner waits until a mark that the agent
 * leaves on the node shows its end. All agents have the order to end before the first cleaner starts, so no kubelet
 * restarts an agent that has ended. The cleaner is made from the DaemonSet of the agents, so it is created before that
 * is deleted: if the command is killed at any point, or gets no answer, another run finishes its work. On a node that
 * is away, the cleaner waits, and cleans the node when it returns.
 */
import type { V1DaemonSet, V1Pod } from '@kubernetes/client-node';
import { plural } from '../../lib/text/plural.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import type { AgentCluster } from './agentcluster.ts';
import { CLEANER, cleanerOf, isParked, parked, released } from './cleaner.ts';

export const AGENTS = 'sluice';

export interface Removal {
  /** Names of nodes, sorted. */
  readonly cleaned: readonly string[];
  /** Nodes that did not answer in time, with the message of their pod; nodes without a pod as a number. */
  readonly missing: readonly string[];
}

export interface RemovalOptions {
  readonly cluster: AgentCluster;
  /** The agents' DaemonSet, for where the cluster has it no more. */
  readonly manifest?: V1DaemonSet;
  /** Limit for each of the waits, in milliseconds. */
  readonly patienceMs: number;
  readonly sleep: (ms: number) => Promise<unknown>;
  readonly now: () => number;
}

const POLL_MS = 100;

/** Throws CommandError where there is nothing to remove, or the API server refuses. */
export async function removeFromAllNodes(options: RemovalOptions): Promise<Removal> {
  const { cluster } = options;
  const agents = (await cluster.daemonSet(AGENTS)) ?? options.manifest;
  if (agents !== undefined) await park(agents, cluster);
  else if ((await cluster.daemonSet(CLEANER)) === undefined) throw new CommandError(NOTHING_TO_REMOVE);
  await endAgents(options);
  const removal = removalOf(await cleanedNodes(options));
  if (removal.missing.length > 0) return removal;
  await cluster.delete(CLEANER); // its pods have finished, and nothing depends on their end
  return removal;
}

async function park(agents: V1DaemonSet, cluster: AgentCluster): Promise<void> {
  await cluster.delete(CLEANER); // left over from an earlier removal
  await cluster.create(parked(cleanerOf(agents)));
}

const NOTHING_TO_REMOVE = `there is no DaemonSet ${AGENTS} to remove: -n names another namespace, -f the manifests that it was made of; on a node without an agent "sluice uninstall" removes what is left`;

async function endAgents(options: RemovalOptions): Promise<void> {
  const { cluster } = options;
  await cluster.delete(AGENTS);
  await polling(options, async () => (await podsOf(AGENTS, cluster)).every(isToldToEnd));
  const cleaner = await cluster.daemonSet(CLEANER);
  if (cleaner !== undefined && isParked(cleaner)) await cluster.replace(released(cleaner));
}

const isToldToEnd = ({ metadata }: V1Pod) => metadata?.deletionTimestamp !== undefined;

/**
 * The pods that a DaemonSet owns, not others with the same label: of all DaemonSets of this name, or of the one with
 * this uid.
 */
async function podsOf(name: string, cluster: AgentCluster, uid?: string): Promise<readonly V1Pod[]> {
  const isOwned = ({ metadata }: V1Pod) =>
    metadata?.ownerReferences?.some(
      owner => owner.kind === 'DaemonSet' && owner.name === name && (uid ?? owner.uid) === owner.uid,
    ) ?? false;
  return (await cluster.pods(name)).filter(isOwned);
}

interface Progress {
  readonly pods: readonly V1Pod[];
  /** How many pods there are to be; undefined until a controller has answered. */
  readonly wanted: number | undefined;
}

/** The cleaner's pods when all are ready, or patience has ended. */
async function cleanedNodes(options: RemovalOptions): Promise<Progress> {
  let progress: Progress = { pods: [], wanted: undefined };
  await polling(options, async () => {
    const cleaner = await options.cluster.daemonSet(CLEANER);
    const wanted = wantedOf(cleaner);
    progress = { wanted, pods: await podsOf(CLEANER, options.cluster, cleaner?.metadata?.uid) };
    return wanted !== undefined && progress.pods.length >= wanted && progress.pods.every(isClean);
  });
  return progress;
}

/** The number of pods that the controller wants; undefined until its status is of the current generation. */
function wantedOf(cleaner: V1DaemonSet | undefined): number | undefined {
  const { metadata, status } = cleaner ?? {};
  const isSeen = (status?.observedGeneration ?? 0) >= (metadata?.generation ?? Infinity);
  return isSeen ? status?.desiredNumberScheduled : undefined;
}

async function polling(
  { patienceMs, sleep, now }: RemovalOptions,
  isDone: () => Promise<boolean>,
): Promise<void> {
  const endMs = now() + patienceMs;
  while (!(await isDone()) && now() < endMs) await sleep(POLL_MS);
}

function removalOf({ pods, wanted }: Progress): Removal {
  const nodeOf = (pod: V1Pod) => pod.spec?.nodeName ?? pod.metadata?.name ?? 'a node';
  return {
    cleaned: pods.filter(isClean).map(nodeOf).sort(),
    missing: [
      ...pods
        .filter(pod => !isClean(pod))
        .map(pod => `${nodeOf(pod)} (${stateOf(pod)})`)
        .sort(),
      ...withoutPod(wanted, pods.length),
    ],
  };
}

/** A quota, an admission or a controller that rests may leave nodes without their pod. */
function withoutPod(wanted: number | undefined, pods: number): string[] {
  const why = `no pod: "kubectl describe daemonset ${CLEANER}" says why`;
  if (wanted === undefined) return [`all other nodes (${why})`];
  return wanted > pods ? [`${plural(wanted - pods, 'node')} (${why})`] : [];
}

/** The pod's first container has ended without an error, and the second one runs. */
function isClean({ status }: V1Pod): boolean {
  return status?.conditions?.some(({ type, status }) => type === 'Initialized' && status === 'True') ?? false;
}

/** The reason of its first container is the last line that it wrote, where it failed. */
function stateOf({ status }: V1Pod): string {
  const { state, lastState } = status?.initContainerStatuses?.[0] ?? {};
  const said = (state?.terminated?.message ?? lastState?.terminated?.message)?.trim().split('\n').at(-1);
  const reason = state?.waiting?.reason ?? state?.terminated?.reason ?? status?.reason;
  return said || reason || status?.phase || 'no answer';
}
