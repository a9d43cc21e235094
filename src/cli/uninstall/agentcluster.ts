/**
 * The calls of the API server that removing all agents needs. They use the agent's own client: loading the official one
 * takes a second of CPU (docs/decisions/0007), for which `helm uninstall` would wait.
 */
import { text } from 'node:stream/consumers';
import type { V1DaemonSet, V1Pod } from '@kubernetes/client-node';
import { ApiError, unlessForbidden } from '../../inputs/kube/client/api.ts';
import { ApiServer } from '../../inputs/kube/client/apiserver.ts';
import { findAccess } from '../../inputs/kube/client/findaccess.ts';
import { asMap, asMaps } from '../../inputs/kube/report/identity.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { NAME_LABEL } from './cleaner.ts';

/** Each throws CommandError where the server refuses or does not answer. Dates are text, as the server wrote them. */
export interface AgentCluster {
  /** Undefined where there is none of this name. */
  daemonSet(name: string): Promise<V1DaemonSet | undefined>;
  create(daemonSet: V1DaemonSet): Promise<void>;
  replace(daemonSet: V1DaemonSet): Promise<void>;
  /** Resolves when its pods are ordered to end. Does nothing if it is gone already. */
  delete(name: string): Promise<void>;
  /** The pods that carry a DaemonSet's name as their label. */
  pods(name: string): Promise<readonly V1Pod[]>;
}

export interface OpenAgentCluster extends AgentCluster {
  /** Ends its connections. */
  close(): Promise<void>;
}

/** By a kubeconfig, as kubectl finds one, or by the ServiceAccount of the pod that this runs in. Throws CommandError. */
export async function openAgentCluster(
  namespace: string,
  kubeconfig: string | undefined,
): Promise<OpenAgentCluster> {
  const load = await findAccess(kubeconfig, process.env);
  if (load === undefined) throw new CommandError(NO_CLUSTER);
  await load().catch(error => {
    throw new CommandError((error as Error).message);
  });
  return agentClusterOf(new ApiServer(load), namespace);
}

const NO_CLUSTER =
  'no cluster to remove Sluice from: name one by --kubeconfig or KUBECONFIG; without --all-nodes this node alone is meant';

/** Rights that were given a moment ago, as those of a release's hook are, reach an API server a little later. */
const NEW_RIGHTS_MS = 3_000;
const RETRY_MS = 200;

export function agentClusterOf(api: ApiServer, namespace: string): OpenAgentCluster {
  const daemonSets = `/apis/apps/v1/namespaces/${namespace}/daemonsets`;
  const { signal } = new AbortController(); // each request has an end of its own
  const read = async (path: string, query = {}) =>
    JSON.parse(await text(await api.get(path, query, signal))) as unknown;
  const inWords = async <T>(what: string, request: Promise<T>): Promise<T> => {
    try {
      return await request;
    } catch (error) {
      throw new CommandError(`cannot ${what} in namespace ${namespace}: ${sentenceOf(error)}`);
    }
  };
  return {
    daemonSet: name => {
      const ask = () => unlessMissing(read(`${daemonSets}/${name}`));
      const answer = unlessForbidden(ask, NEW_RIGHTS_MS, RETRY_MS) as Promise<V1DaemonSet | undefined>;
      return inWords(`read DaemonSet ${name}`, answer);
    },
    create: daemonSet => {
      const what = `create DaemonSet ${daemonSet.metadata!.name}`;
      return inWords(what, api.create(daemonSets, daemonSet, signal));
    },
    replace: daemonSet => {
      const name = daemonSet.metadata!.name!;
      return inWords(`change DaemonSet ${name}`, api.replace(`${daemonSets}/${name}`, daemonSet, signal));
    },
    delete: name => {
      const request = api.remove(`${daemonSets}/${name}`, { propagationPolicy: 'Background' }, signal);
      return inWords(`delete DaemonSet ${name}`, unlessMissing(request));
    },
    pods: async name => {
      const query = { labelSelector: `${NAME_LABEL}=${name}` };
      const list = await inWords(`list pods of ${name}`, read(`/api/v1/namespaces/${namespace}/pods`, query));
      return asMaps(asMap(list).items) as readonly V1Pod[];
    },
    close: () => api.close(),
  };
}

/** Undefined where the object is not there. */
async function unlessMissing<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof ApiError && error.code === 404) return undefined;
    throw error;
  }
}

/** The server's own, where its answer has one. */
function sentenceOf(error: unknown): string {
  return (error instanceof ApiError ? error.sentence : undefined) ?? (error as Error).message;
}
