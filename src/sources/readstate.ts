/**
 * The cluster that a question is asked of: manifests, a dump, a live cluster or the node's agent. What is named is
 * read; where nothing is, the agent of this node, and on a machine without one kubectl's own cluster.
 */
import { access, constants } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { auditedNote } from '../model/audited.ts';
import { NO_INVENTORY } from '../model/inventory.ts';
import { CommandError } from '../terminal/commanderror.ts';
import { type AgentCluster, readAgent, readDumped } from './agent.ts';
import { readFiles } from './files.ts';
import { liveNamespace, readLive } from './live.ts';
import { DEFAULT_SOCKET, type SourceOptions, type Wanted } from './options.ts';
import { scopeOf } from './scope.ts';
import type { State } from './state.ts';

/** Throws CommandError where there is nothing to read. */
export async function readState(options: SourceOptions, wanted: Wanted = {}): Promise<State> {
  const state = await readSource(options, wanted);
  return { ...state, notes: [...state.notes, ...auditedNote(state.cluster)] };
}

async function readSource(options: SourceOptions, wanted: Wanted): Promise<State> {
  const { manifests, dump, kubeconfig, context, socket } = options;
  if (manifests !== undefined && manifests.length > 0) return fromFiles(options, manifests);
  if (dump !== undefined) return fromAgent(options, await readDumped(dump), `the agent's cluster in ${dump}`);
  if (kubeconfig !== undefined || context !== undefined) return fromLive(options, wanted);
  if (socket !== undefined || (await mayAsk(DEFAULT_SOCKET)))
    return fromAgent(
      options,
      await readAgent(socket ?? DEFAULT_SOCKET, wanted.addresses),
      "the agent's cluster",
    );
  if (await hasCluster()) return fromLive(options, wanted);
  if (await isThere(DEFAULT_SOCKET))
    return fromAgent(options, await readAgent(DEFAULT_SOCKET, wanted.addresses), "the agent's cluster");
  throw new CommandError(
    `no agent on this node (${DEFAULT_SOCKET}) and no kubeconfig: name --manifests DIR, --kubeconfig FILE or --socket PATH`,
  );
}

async function fromFiles(options: SourceOptions, paths: readonly string[]): Promise<State> {
  const read = await readFiles(paths, options.namespace);
  return { ...read, notes: [], knowsInventory: true, source: 'the manifests', scope: scopeOf(options) };
}

function fromAgent(
  options: SourceOptions,
  { cluster, unknownPods, known }: AgentCluster,
  source: string,
): State {
  const read = { cluster, unknownPods, known, inventory: NO_INVENTORY, problems: [], notes: [] };
  return { ...read, hidesPolicies: false, knowsInventory: false, source, scope: scopeOf(options) };
}

async function fromLive(options: SourceOptions, wanted: Wanted): Promise<State> {
  const { kubeconfig, context } = options;
  const scope = scopeOf(options, await liveNamespace(kubeconfig, context));
  const { workloads = false, services = false, namespaces = [] } = wanted;
  const places = [...new Set([...namespaces, scope.defaultNamespace])];
  const read = await readLive({ workloads, services, namespaces: places }, kubeconfig, context);
  return { ...read, source: 'the cluster', scope };
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
