/** Where the agent's state comes from: a folder of manifests, or an API server. */
import type { Logger } from 'pino';
import type { Unavailable } from '../kube/report/nodecondition.ts';
import type { ClusterEvent } from '../model/cluster.ts';
import type { NetworkError } from '../network/error.ts';
import type { AgentSource, SourceWatcher } from './agentsource.ts';

export interface SourceOptions {
  readonly node: string;
  readonly manifests?: string;
  readonly kubeconfig?: string;
}

export async function openSource(
  { node, manifests, kubeconfig }: SourceOptions,
  onEvents: (events: readonly ClusterEvent[]) => void,
  watcher: SourceWatcher,
  log: Logger,
): Promise<AgentSource> {
  // Loaded where it is the one: of the other an agent needs nothing, and its start would wait for it.
  if (manifests === undefined) {
    const { openApiServer } = await import('./apiserversource.ts');
    return openApiServer(node, kubeconfig, onEvents, watcher, log);
  }
  const { openManifests } = await import('./manifestsource.ts');
  return openManifests(manifests, onEvents, watcher, log);
}

/** What is reported of the Node. */
export function networkCondition(unavailable: NetworkError | undefined): Unavailable | undefined {
  if (unavailable === undefined) return undefined;
  const reason = unavailable.code === 'exhausted' ? 'PodAddressesExhausted' : 'PodNetworkNotReady';
  return { reason, message: `${unavailable.message}: further pods must wait, running ones stay as they are` };
}
