/**
 * The cluster that a question is asked of: manifests, a dump, a live cluster or the node's agent. What is named is
 * read; where nothing is, the agent of this node, and on a machine without one kubectl's own cluster.
 */
import { auditedNote } from '../../model/audited.ts';
import { NO_INVENTORY } from '../../model/inventory.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { type KnownCluster, readAgent, readDumped } from './agent.ts';
import { agentOrCluster } from './agentorcluster.ts';
import { holdsNothing, nothingIn, readFiles } from './files.ts';
import { liveNamespace, readLive } from './live.ts';
import { DEFAULT_SOCKET, type QuestionNeeds, type SourceOptions } from './options.ts';
import { scopeOf } from './scope.ts';
import type { State } from './state.ts';

/** Throws CommandError where there is nothing to read. */
export async function readState(options: SourceOptions, wanted: QuestionNeeds = {}): Promise<State> {
  const state = await readSource(options, wanted);
  return { ...state, notes: [...state.notes, ...auditedNote(state.cluster)] };
}

async function readSource(options: SourceOptions, wanted: QuestionNeeds): Promise<State> {
  const { manifests, dump } = options;
  if (manifests !== undefined && manifests.length > 0) return readManifests(options, manifests);
  if (dump !== undefined) return fromAgent(options, await readDumped(dump), `the agent's cluster in ${dump}`);
  const asked = options.isCluster ? 'cluster' : await agentOrCluster(options);
  if (asked === 'cluster') return fromLive(options, wanted);
  if (asked !== undefined)
    return fromAgent(options, await readAgent(asked.socket, wanted.addresses), "the agent's cluster");
  throw new CommandError(
    `no agent on this node (${DEFAULT_SOCKET}) and no kubeconfig: name --manifests DIR, --kubeconfig FILE or --socket PATH`,
  );
}

/** Of no path: nobody and nothing, for what brings all that it asks of. */
export async function readManifests(options: SourceOptions, paths: readonly string[]): Promise<State> {
  const read = await readFiles(paths, options.namespace);
  const notes = paths.length > 0 && holdsNothing(read) ? [nothingIn(paths)] : [];
  return { ...read, notes, knowsInventory: true, source: 'the manifests', scope: scopeOf(options) };
}

function fromAgent(
  options: SourceOptions,
  { cluster, unknownPods, known }: KnownCluster,
  source: string,
): State {
  const read = { cluster, unknownPods, known, inventory: NO_INVENTORY, problems: [], notes: [] };
  return { ...read, hidesPolicies: false, knowsInventory: false, source, scope: scopeOf(options) };
}

async function fromLive(options: SourceOptions, wanted: QuestionNeeds): Promise<State> {
  const { kubeconfig, context } = options;
  const scope = scopeOf(options, await liveNamespace(kubeconfig, context));
  const { workloads = false, services = false, namespaces = [] } = wanted;
  const places = [...new Set([...namespaces, scope.defaultNamespace])];
  const read = await readLive({ workloads, services, namespaces: places }, kubeconfig, context);
  return { ...read, source: 'the cluster', scope };
}
