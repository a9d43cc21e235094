/** The agents of a cluster by its API server's `exec`, with the caller's own rights. */
import { type Api, ApiError } from '../../inputs/kube/client/api.ts';
import { ApiServer } from '../../inputs/kube/client/apiserver.ts';
import { MeasuredApi } from '../../inputs/kube/once/measure.ts';
import { asMap, asMaps } from '../../inputs/kube/report/identity.ts';
import { listPages } from '../../inputs/kube/watch/listpage.ts';
import { NODES, PODS, type Resource } from '../../inputs/kube/watch/resource.ts';
import { isText } from '../../lib/text/istext.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { AGENT_LABEL } from '../sources/agentflags.ts';
import { accessTo } from '../sources/live.ts';
import { type AgentPod, type Agents, MissingRight } from './agents.ts';
import { Refusal, runIn } from './exec.ts';
import { versionNote } from './versions.ts';

export interface AgentsOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
  /** The namespace of the agents. */
  readonly agents: string;
}

/** Throws CommandError where there is no such cluster. */
export async function clusterAgents(options: AgentsOptions): Promise<Agents> {
  const { agents: namespace, kubeconfig, context } = options;
  const load = accessTo(kubeconfig, context);
  let access = await load().catch((error: Error) => {
    throw new CommandError(error.message);
  });
  const agents: Agents = {
    list: () => listOf(options, namespace, 'pods', (server, signal) => listAgents(server, namespace, signal)),
    nodes: () => listOf(options, undefined, 'nodes', listNodes),
    run: async (pod, words, sink, until) => {
      const run = () => runIn(access, { namespace, pod, words }, sink, until);
      try {
        return await run().catch(async error => {
          // A token ends while somebody follows for hours.
          if (!isRefused(error, 401)) throw error;
          access = await load();
          return run();
        });
      } catch (error) {
        if (!isRefused(error, 403)) throw error;
        throw new MissingRight(mayNot(EXEC_VERBS, 'pods/exec', namespace, (error as Error).message));
      }
    },
    versionNote: pods => versionNote(agents, pods),
  };
  return agents;
}

/** Older servers require `get` to open a WebSocket, newer ones `create`. */
const EXEC_VERBS = 'create and get';

function isRefused(error: unknown, code: number): boolean {
  return error instanceof Refusal && error.code === code;
}

async function listOf<T>(
  { kubeconfig, context }: AgentsOptions,
  namespace: string | undefined,
  resource: 'pods' | 'nodes',
  read: (server: Api, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const server = new ApiServer(accessTo(kubeconfig, context));
  try {
    return await read(server, new AbortController().signal);
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 403) throw error;
    throw new MissingRight(mayNot('list', resource, namespace, error.sentence ?? error.message));
  } finally {
    await server.close();
  }
}

function mayNot(verb: string, resource: string, namespace: string | undefined, reason: string): string {
  const what = namespace === undefined ? resource : `${resource} in namespace ${namespace}`;
  return `you may not ask the agents: the right to ${verb} ${what} is missing (${reason})`;
}

// The pods of the agents as the API server lists them: page by page, and no more than there can be.

/** One of each node, and those that end; 5,000 nodes are the most that Kubernetes is made for. */
const MOST = { objects: 20_000, bytes: 1 << 30 };

/** Throws ApiError where the server cannot be asked, refuses, or answers without end. */
export async function listAgents(
  server: Api,
  namespace: string,
  signal: AbortSignal,
  most = MOST,
): Promise<AgentPod[]> {
  return listed(server, resourceOf(namespace), agentPod, signal, most);
}

/** The names of all Nodes. Throws as `listAgents` does. */
async function listNodes(server: Api, signal: AbortSignal, most = MOST): Promise<string[]> {
  return listed(server, NODE_NAMES, nodeName, signal, most);
}

async function listed<T>(
  server: Api,
  resource: Resource,
  read: (object: unknown) => readonly T[],
  signal: AbortSignal,
  most: { readonly objects: number; readonly bytes: number },
): Promise<T[]> {
  const api = new MeasuredApi(server, most);
  const found: T[] = [];
  const take = (listed: readonly { readonly object: unknown }[]) => {
    api.read(resource.path, listed.length);
    found.push(...listed.flatMap(({ object }) => read(object)));
  };
  await listPages(api, resource, take, signal);
  return found;
}

const NODE_NAMES: Resource = {
  ...NODES,
  shape: { apiVersion: 'all', kind: 'all', metadata: { name: 'all' } },
};

function nodeName(object: unknown): string[] {
  const { name } = asMap(asMap(object).metadata);
  return isText(name) ? [name] : [];
}

function resourceOf(namespace: string): Resource {
  return {
    ...PODS,
    path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`,
    labelSelector: AGENT_LABEL,
    shape: {
      apiVersion: 'all',
      kind: 'all',
      metadata: { name: 'all', namespace: 'all', deletionTimestamp: 'all' },
      spec: { nodeName: 'all', containers: { name: 'all' } },
      status: { phase: 'all', containerStatuses: { name: 'all', imageID: 'all' } },
    },
  };
}

function agentPod(object: unknown): AgentPod[] {
  const { metadata, spec, status } = asMap(object);
  const { nodeName: node, containers } = asMap(spec);
  const { name, deletionTimestamp } = asMap(metadata);
  const container = Array.isArray(containers) ? asMap(containers[0]).name : undefined;
  if (!isText(name) || !isText(node) || !isText(container) || deletionTimestamp !== undefined) return [];
  const { phase, containerStatuses } = asMap(status);
  const { imageID } = asMap(asMaps(containerStatuses).find(each => each.name === container));
  return [
    {
      name,
      node,
      container,
      phase: isText(phase) ? phase : 'unknown',
      ...(isText(imageID) && { image: imageID }),
    },
  ];
}
