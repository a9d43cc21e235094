/** What the API server holds, read by plain lists, and what has to stand for it. */
import { decodeObject } from '../../../src/inputs/kube/decode/decode.ts';
import { ClusterState } from '../../../src/model/cluster.ts';
import type { Api } from './api.ts';

interface Definition {
  readonly spec: { readonly versions: readonly { readonly name: string; readonly served: boolean }[] };
}

const PLAIN = [
  ['v1', 'Namespace', '/api/v1/namespaces'],
  ['v1', 'Node', '/api/v1/nodes'],
  ['v1', 'Pod', '/api/v1/pods'],
  ['networking.k8s.io/v1', 'NetworkPolicy', '/apis/networking.k8s.io/v1/networkpolicies'],
] as const;

const GROUP = 'policy.networking.k8s.io';
const CUSTOM = [
  ['ClusterNetworkPolicy', 'clusternetworkpolicies', ['v1beta1', 'v1alpha2']],
  ['AdminNetworkPolicy', 'adminnetworkpolicies', ['v1alpha1']],
  ['BaselineAdminNetworkPolicy', 'baselineadminnetworkpolicies', ['v1alpha1']],
] as const;

/** The cluster as it is at the server now. */
export async function readCluster(api: Api): Promise<ClusterState> {
  const state = new ClusterState();
  for (const [apiVersion, kind, path] of [...PLAIN, ...(await customKinds(api))])
    for (const item of ((await api.get(path)) as { items: object[] }).items) {
      const { event } = decodeObject({ apiVersion, kind, ...item });
      if (event !== undefined) state.apply(event);
    }
  return state;
}

async function customKinds(api: Api): Promise<[string, string, string][]> {
  const kinds: [string, string, string][] = [];
  for (const [kind, plural, versions] of CUSTOM) {
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.${GROUP}`;
    const { code, body } = await api.try('GET', path);
    if (code === 404) continue;
    const served = (body as Definition).spec.versions
      .filter(version => version.served)
      .map(({ name }) => name);
    const version = versions.find(version => served.includes(version));
    if (version !== undefined)
      kinds.push([`${GROUP}/${version}`, kind, `/apis/${GROUP}/${version}/${plural}`]);
  }
  return kinds;
}
