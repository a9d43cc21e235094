import { access, constants } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { WaitingWork } from '../../api/health/agentchecks.ts';
import type { AgentClient } from '../../api/rpc/client.ts';
import type { StatusResponse } from '../../api/rpc/messages.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { DEFAULT_SOCKET, type SourceOptions } from './state.ts';

/** Asks the agent behind the socket. Throws CommandError if no agent answers. */
export async function askAgent<T>(socket: string, ask: (agent: AgentClient) => Promise<T>): Promise<T> {
  const { connectAgent } = await import('../../api/rpc/client.ts').catch(error => {
    if (!NOT_HERE.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    throw new CommandError('to ask an agent by its socket needs the whole build: npm ci && npm run build');
  });
  const client = connectAgent(socket);
  try {
    return await ask(client);
  } catch (error) {
    throw new CommandError(whyNot(socket, (error as Error).message));
  } finally {
    client.close();
  }
}

/** The one-file command line has no such module; within one executable nothing but Node's own modules is looked for. */
const NOT_HERE = new Set(['ERR_MODULE_NOT_FOUND', 'ERR_UNKNOWN_BUILTIN_MODULE']);

function whyNot(socket: string, message: string): string {
  const refusal = /ENOENT|ENOTDIR|ECONNREFUSED|EACCES/.exec(message)?.[0];
  if (refusal === undefined) return `the agent (${socket}) cannot answer: ${message}`;
  // If --socket was given, the hint to give it is not needed.
  const isNamed = socket !== DEFAULT_SOCKET;
  const elsewhere = isNamed ? '' : '; pass --socket if it is elsewhere';
  if (refusal === 'EACCES') return `only root may ask the agent (${socket})${elsewhere}`;
  if (!isNamed) return `no agent on this node (${socket})${elsewhere}`;
  return `no agent at ${socket}: ${refusal === 'ECONNREFUSED' ? 'no process listens there' : 'there is no such socket'}`;
}

// Whom a command asks that no manifest can answer: the agent of this node, or the cluster of a kubeconfig.

/**
 * Asks the named socket or cluster. If none is named, asks the agent of this node, or on a machine without one the
 * current cluster of kubectl. Undefined if there is neither.
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

/** A user who is not root on a node asks the cluster, as on any other machine. */
const mayAsk = (socket: string) => may(socket, constants.R_OK | constants.W_OK);
const isThere = (path: string) => may(path, constants.F_OK);

function may(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}

/** Whether kubectl would find one without --kubeconfig. */
async function hasCluster(): Promise<boolean> {
  if (process.env.KUBECONFIG || process.env.KUBERNETES_SERVICE_HOST) return true;
  return isThere(join(homedir(), '.kube', 'config'));
}

// What waits for its turn, as the agent tells it.

export function waitingOf(status: StatusResponse): WaitingWork {
  return {
    waitingPods: status.waiting_pods,
    waitingMs: status.waiting_ms,
    waitingPodNames: status.waiting_pod_names,
    waitingPolicies: status.waiting_policies,
    waitingPoliciesMs: status.waiting_policies_ms,
    waitingPolicyNames: status.waiting_policy_names,
  };
}
