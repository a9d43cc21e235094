/** What removing the agents of a cluster asks of its API server: a thin edge over the official client. */
import type { V1DaemonSet, V1Pod } from '@kubernetes/client-node';
import { CommandError } from '../../terminal/commanderror.ts';
import { NAME_LABEL } from './cleaner.ts';

export interface AgentCluster {
  /** Undefined where there is none of this name. */
  daemonSet(name: string): Promise<V1DaemonSet | undefined>;
  create(daemonSet: V1DaemonSet): Promise<void>;
  replace(daemonSet: V1DaemonSet): Promise<void>;
  /** Answers when its pods are told to end. Harmless where it is gone. */
  delete(name: string): Promise<void>;
  /** The pods that carry a DaemonSet's name as their label. */
  pods(name: string): Promise<readonly V1Pod[]>;
}

/** By a kubeconfig, as kubectl finds one, or by the ServiceAccount of the pod that this runs in. */
export async function openAgentCluster(
  namespace: string,
  kubeconfig: string | undefined,
): Promise<AgentCluster> {
  const { ApiException, AppsV1Api, CoreV1Api, KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  if (kubeconfig === undefined) config.loadFromDefault();
  else config.loadFromFile(kubeconfig);
  // Without any configuration the client falls back to this.
  if (config.getCurrentCluster()?.server === 'http://localhost:8080') throw new CommandError(NO_CLUSTER);
  const apps = config.makeApiClient(AppsV1Api);
  const core = config.makeApiClient(CoreV1Api);
  const refusal = (what: string, error: unknown) =>
    new CommandError(`cannot ${what} in namespace ${namespace}: ${serverMessage(error)}`);
  const orRefusal = async (what: string, request: Promise<unknown>): Promise<void> => {
    await request.catch(error => {
      throw refusal(what, error);
    });
  };
  /** `fallback` where the object is not there. */
  const unlessMissing = async <T>(what: string, request: Promise<T>, fallback: T): Promise<T> => {
    try {
      return await request;
    } catch (error) {
      if (error instanceof ApiException && error.code === 404) return fallback;
      throw refusal(what, error);
    }
  };
  return {
    daemonSet: name =>
      unlessMissing<V1DaemonSet | undefined>(
        `read DaemonSet ${name}`,
        apps.readNamespacedDaemonSet({ name, namespace }),
        undefined,
      ),
    create: async body => {
      const request = apps.createNamespacedDaemonSet({ namespace, body });
      await orRefusal(`create DaemonSet ${body.metadata!.name}`, request);
    },
    replace: async body => {
      const name = body.metadata!.name!;
      await orRefusal(`change DaemonSet ${name}`, apps.replaceNamespacedDaemonSet({ name, namespace, body }));
    },
    delete: async name => {
      const request = apps.deleteNamespacedDaemonSet({ name, namespace, propagationPolicy: 'Background' });
      await unlessMissing<unknown>(`delete DaemonSet ${name}`, request, undefined);
    },
    pods: async name => {
      const labelSelector = `${NAME_LABEL}=${name}`;
      const { items } = await unlessMissing(
        `list pods of ${name}`,
        core.listNamespacedPod({ namespace, labelSelector }),
        { items: [] },
      );
      return items;
    },
  };
}

const NO_CLUSTER =
  'no cluster to remove Sluice from: name one by --kubeconfig or KUBECONFIG; without --all-nodes this node alone is meant';

/** The server's own sentence, where its answer has one. */
export function serverMessage(error: unknown): string {
  const body = (error as { body?: unknown }).body;
  try {
    const { message } = (typeof body === 'string' ? JSON.parse(body) : (body ?? {})) as { message?: string };
    if (message !== undefined) return message;
  } catch {
    // No JSON: the error says what it can.
  }
  return (error as Error).message.split('\n')[0]!;
}
