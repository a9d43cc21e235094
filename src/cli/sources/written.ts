/** The NetworkPolicies of a cluster as their authors wrote them, for edits of them. */
import { text } from 'node:stream/consumers';
import type { PolicyObject } from '../../answers/questions/fix/proposal.ts';
import { asApplied, type Written, writtenAs } from '../../answers/questions/fix/written.ts';
import { type Api, ApiError, parsed } from '../../inputs/kube/client/api.ts';
import { ApiServer } from '../../inputs/kube/client/apiserver.ts';
import { asMap, asMaps, metadataOf } from '../../inputs/kube/report/identity.ts';
import { accessTo } from './live.ts';
import type { SourceOptions } from './state.ts';

const API_VERSION = 'networking.k8s.io/v1';
const KIND = 'NetworkPolicy';

/** More policies of a namespace are not read again: then an edit of one may not be found. */
const LIMIT = '500';

/** Those of some namespaces, without what the server added, as kubectl apply takes them. */
export async function writtenInCluster(
  namespaces: Iterable<string>,
  { kubeconfig, context }: SourceOptions,
): Promise<Written> {
  const api = new ApiServer(accessTo(kubeconfig, context));
  try {
    const found = new Map<string, PolicyObject>();
    for (const namespace of namespaces)
      for (const object of await policiesIn(api, namespace))
        found.set(`${KIND} ${namespace}/${metadataOf(object).name}`, object);
    return writtenAs(id => found.get(id));
  } finally {
    await api.close();
  }
}

async function policiesIn(api: Api, namespace: string): Promise<readonly PolicyObject[]> {
  const path = `/apis/${API_VERSION}/namespaces/${encodeURIComponent(namespace)}/networkpolicies`;
  try {
    const body = await api.get(path, { limit: LIMIT }, new AbortController().signal);
    const { items } = asMap(parsed(await text(body)));
    return asMaps(items).map(item => asApplied({ apiVersion: API_VERSION, kind: KIND, ...item }));
  } catch (error) {
    // The answer is there already, and a new policy is proposed in place of an edit.
    if (error instanceof ApiError) return [];
    throw error;
  }
}
