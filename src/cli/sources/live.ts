/** A live cluster, read once as kubectl would reach it, with the caller's own rights. */

import type { LoadAccess } from '../../inputs/kube/client/access.ts';
import { type Api, ApiError } from '../../inputs/kube/client/api.ts';
import { ApiServer } from '../../inputs/kube/client/apiserver.ts';
import { inClusterAccess } from '../../inputs/kube/client/findaccess.ts';
import { kubeconfigAccess, kubeconfigNamespace } from '../../inputs/kube/client/kubeconfig.ts';
import { type ListedKinds, lackTexts, listOnce, namespacesRead } from '../../inputs/kube/once/listonce.ts';
import { ClusterState } from '../../model/cluster.ts';
import { inventoryOf } from '../../model/inventory.ts';
import { withPodTunnels } from '../../model/tunnels.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { startProgress } from '../../terminal/progress.ts';
import { type AgentFlags, readAgentFlags } from './agentflags.ts';
import type { State } from './state.ts';

export type LiveState = Pick<
  State,
  | 'cluster'
  | 'inventory'
  | 'problems'
  | 'notes'
  | 'hidesPolicies'
  | 'policiesOnlyOf'
  | 'knowsInventory'
  | 'mayNotList'
  | 'unknownPods'
  | 'guesses'
>;

/** The namespace that names without one are meant in; throws CommandError where the kubeconfig cannot be read. */
export async function liveNamespace(kubeconfig?: string, context?: string): Promise<string | undefined> {
  if (isInCluster(kubeconfig, context)) return undefined;
  return kubeconfigNamespace(kubeconfig, context).catch(mendable);
}

/** `agents` is their namespace, where what they do may change the answer. */
export type LiveNeeds = ListedKinds & { readonly agents?: string };

/** Throws CommandError where the server cannot be asked. */
export async function readLive(
  wanted: LiveNeeds,
  kubeconfig: string | undefined,
  context: string | undefined,
): Promise<LiveState> {
  const api = new ApiServer(accessTo(kubeconfig, context));
  try {
    return await readApi(api, wanted);
  } finally {
    await api.close();
  }
}

/** The access to the chosen cluster: as kubectl would connect, or inside a pod with its token. */
export function accessTo(kubeconfig: string | undefined, context: string | undefined): LoadAccess {
  const own = isInCluster(kubeconfig, context) ? inClusterAccess(process.env) : undefined;
  return own ?? kubeconfigAccess(kubeconfig, context);
}

/** A pod has no kubeconfig, and reads as itself. */
function isInCluster(kubeconfig: string | undefined, context: string | undefined): boolean {
  if (kubeconfig !== undefined || context !== undefined || process.env.KUBECONFIG) return false;
  return inClusterAccess(process.env) !== undefined;
}

export async function readApi(api: Api, { agents, ...wanted }: LiveNeeds): Promise<LiveState> {
  const progress = startProgress();
  try {
    const { signal } = new AbortController();
    const shown = (resource: string, count: number) => progress.show(`reading ${resource}: ${count}`);
    const [read, saidBy] = await Promise.all([
      listOnce(api, wanted, shown, signal),
      agents === undefined ? undefined : readAgentFlags(api, agents, signal),
    ]);
    const cluster = new ClusterState();
    for (const event of read.events) cluster.apply(event);
    const policiesOnlyOf = namespacesRead(read.lacks);
    const flags = saidBy?.(cluster.nodes.size) ?? {};
    return {
      cluster: flags.podTunnels === 'allow' ? withPodTunnels(cluster) : cluster,
      ...whatAgentsDo(flags),
      inventory: inventoryOf(read.items),
      problems: read.problems,
      notes: lackTexts(read.lacks),
      hidesPolicies: read.lacks.some(({ hidesPolicies }) => hidesPolicies),
      ...(policiesOnlyOf && { policiesOnlyOf }),
      knowsInventory: wanted.services,
      mayNotList: (plural, namespace = '') =>
        read.lacks.some(({ resource, only }) => resource === plural && !only.includes(namespace)),
    };
  } catch (error) {
    throw mendableError(error);
  } finally {
    progress.end();
  }
}

function whatAgentsDo({ unknownPods, podTunnels, why = 'nobody said how' }: AgentFlags) {
  if (unknownPods !== undefined && podTunnels !== undefined) return { unknownPods };
  const guesses = { unknownPods: unknownPods === undefined, podTunnels: podTunnels === undefined, why };
  return { ...(unknownPods && { unknownPods }), guesses };
}

function mendable(error: unknown): never {
  throw mendableError(error);
}

/** Errors on the way to the API server can be fixed by the user, so they are shown without a stack. */
function mendableError(error: unknown): unknown {
  if (error instanceof ApiError && error.code === 401)
    return new CommandError(`the API server does not know you: ${error.message}`);
  if (error instanceof ApiError) return new CommandError(`the API server cannot be read: ${error.message}`);
  const message = (error as Error).message ?? '';
  return message.startsWith('the kubeconfig cannot be used') ? new CommandError(message) : error;
}
