/** The pods of the agents as the API server lists them: page by page, and no more than there can be. */
import type { Api } from '../../inputs/kube/client/api.ts';
import { MeasuredApi } from '../../inputs/kube/once/measure.ts';
import { asMap } from '../../inputs/kube/report/identity.ts';
import { listPages } from '../../inputs/kube/watch/listpages.ts';
import { PODS, type Resource } from '../../inputs/kube/watch/resource.ts';
import { isText } from '../../lib/text/istext.ts';
import type { AgentPod } from './agents.ts';

/** One of each node, and those that end; 5,000 nodes are the most that Kubernetes is made for. */
const MOST = { objects: 20_000, bytes: 1 << 30 };
const LABEL = 'app.kubernetes.io/name=sluice';

/** Throws ApiError where the server cannot be asked, refuses, or answers without end. */
export async function listAgents(
  server: Api,
  namespace: string,
  signal: AbortSignal,
  most = MOST,
): Promise<AgentPod[]> {
  const api = new MeasuredApi(server, most);
  const found: AgentPod[] = [];
  const { path } = resourceOf(namespace);
  const take = (listed: readonly { readonly object: unknown }[]) => {
    api.read(path, listed.length);
    found.push(...listed.flatMap(({ object }) => agentPod(object)));
  };
  await listPages(api, resourceOf(namespace), take, signal);
  return found;
}

function resourceOf(namespace: string): Resource {
  return {
    ...PODS,
    path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`,
    labelSelector: LABEL,
    shape: {
      apiVersion: 'all',
      kind: 'all',
      metadata: { name: 'all', namespace: 'all', deletionTimestamp: 'all' },
      spec: { nodeName: 'all', containers: { name: 'all' } },
      status: { phase: 'all' },
    },
  };
}

function agentPod(object: unknown): AgentPod[] {
  const { metadata, spec, status } = asMap(object);
  const { nodeName: node, containers } = asMap(spec);
  const { name, deletionTimestamp } = asMap(metadata);
  const container = Array.isArray(containers) ? asMap(containers[0]).name : undefined;
  if (!isText(name) || !isText(node) || !isText(container) || deletionTimestamp !== undefined) return [];
  const { phase } = asMap(status);
  return [{ name, node, container, phase: isText(phase) ? phase : 'unknown' }];
}
