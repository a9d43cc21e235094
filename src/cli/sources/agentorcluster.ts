/** Whom a command asks that no manifest can answer: the agent of this node, or the cluster of a kubeconfig. */
import { access, constants } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { DEFAULT_SOCKET, type SourceOptions } from './options.ts';

/**
 * What is named is asked; where nothing is, the agent of this node, and on a machine without one kubectl's own cluster.
 * Undefined where there is neither.
 */
export async function agentOrCluster(
  options: Pick<SourceOptions, 'socket' | 'kubeconfig' | 'context'>,
): Promise<{ readonly socket: string } | 'cluster' | undefined> {
  const { socket, kubeconfig, context } = options;
  if (kubeconfig !== undefined || context !== undefined) return 'cluster';
  if (socket !== undefined || (await mayAsk(DEFAULT_SOCKET))) return { socket: socket ?? DEFAULT_SOCKET };
  if (await hasCluster()) return 'cluster';
  return (await isThere(DEFAULT_SOCKET)) ? { socket: DEFAULT_SOCKET } : undefined;
}

/** Somebody else than root on a node asks the cluster, as anywhere. */
const mayAsk = (socket: string) => may(socket, constants.R_OK | constants.W_OK);
const isThere = (path: string) => may(path, constants.F_OK);

function may(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}

/** Whether kubectl would know one without being told. */
async function hasCluster(): Promise<boolean> {
  if (process.env.KUBECONFIG || process.env.KUBERNETES_SERVICE_HOST) return true;
  return isThere(join(homedir(), '.kube', 'config'));
}
