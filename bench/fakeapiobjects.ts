/** Objects as the API server in memory stores and shows them. */
import { STATUS_CODES } from 'node:http';

export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>> & {
    readonly name: string;
    readonly namespace?: string;
  };
  readonly [key: string]: unknown;
}

export interface FakeRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
}

export const PLURALS: Readonly<Record<string, string>> = {
  Pod: '/api/v1/pods',
  Namespace: '/api/v1/namespaces',
  Node: '/api/v1/nodes',
  Service: '/api/v1/services',
  NetworkPolicy: '/apis/networking.k8s.io/v1/networkpolicies',
  CustomResourceDefinition: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  ClusterNetworkPolicy: 'clusternetworkpolicies',
  AdminNetworkPolicy: 'adminnetworkpolicies',
  BaselineAdminNetworkPolicy: 'baselineadminnetworkpolicies',
};
export const NODE_STATUS_PATH = /^\/api\/v1\/nodes\/([^/]+)\/status$/;
export const EVENTS_PATH = /^\/api\/v1\/namespaces\/([^/]+)\/events$/;
export const CUSTOM_PATH = /^\/apis\/policy\.networking\.k8s\.io\/(\w+)\/(\w+)$/;

export function keyOf({ kind, metadata: { name, namespace } }: KubeObject): string {
  return namespace === undefined ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}

/** Policies are stored once and shown in the version that is asked for. */
export function asServed(object: KubeObject, { path }: FakeRequest): KubeObject {
  const version = CUSTOM_PATH.exec(path)?.[1];
  return version === undefined ? object : { ...object, apiVersion: `policy.networking.k8s.io/${version}` };
}

export function typeOfList(path: string): { apiVersion: string; kind: string } {
  const plural = path.split('/').at(-1);
  const [kind] = Object.entries(PLURALS).find(([, value]) => value.split('/').at(-1) === plural)!;
  const [, root, ...rest] = path.split('/');
  return { apiVersion: root === 'api' ? 'v1' : rest.slice(0, -1).join('/'), kind: `${kind}List` };
}

export function servedVersions({ spec }: KubeObject): readonly string[] {
  const { versions } = spec as { versions: readonly { name: string; served: boolean }[] };
  return versions.filter(({ served }) => served).map(({ name }) => name);
}

export function bookmark(resourceVersion: string, annotations?: object): object {
  return { metadata: { resourceVersion, ...(annotations && { annotations }) } };
}

export function status(code: number): object {
  const reason = code === 410 ? 'Expired' : STATUS_CODES[code];
  return { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message: `fault ${code}` };
}
