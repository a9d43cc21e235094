/** The source of the agent's state: a folder of manifests, or an API server. */
import type { Unavailable } from '../../inputs/kube/report/conditionwriter.ts';
import type { NetworkError } from '../../network/error.ts';
import type { AgentSource, SourceNeeds } from './agentsource.ts';

export interface AgentSourceOptions {
  readonly node: string;
  readonly manifests?: string;
  readonly kubeconfig?: string;
}

export type OpenSource = (needs: SourceNeeds) => Promise<AgentSource>;

/** Loads the code of the chosen source only: the other one would delay the start. */
export async function loadAgentSource({
  node,
  manifests,
  kubeconfig,
}: AgentSourceOptions): Promise<OpenSource> {
  if (manifests === undefined) {
    const { openApiServer } = await import('./apiserversource.ts');
    return needs => openApiServer(node, kubeconfig, needs);
  }
  const { openManifests } = await import('./manifestsource.ts');
  return needs => openManifests(manifests, needs);
}

/** The reason for the NetworkUnavailable condition of the Node. */
export function networkCondition(unavailable: NetworkError | undefined): Unavailable | undefined {
  if (unavailable === undefined) return undefined;
  const reason = unavailable.code === 'exhausted' ? 'PodAddressesExhausted' : 'PodNetworkNotReady';
  return { reason, message: `${unavailable.message}: further pods must wait, running ones stay as they are` };
}
