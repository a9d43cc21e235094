import type { ClusterEvent } from '../../../model/cluster.ts';
import type { PolicyId, PolicyKind } from '../../../model/policy.ts';
import type { Query } from '../client/api.ts';
import type { Shape } from '../client/skim.ts';

/** A kind of object, and where the API server keeps it. */
export interface Resource {
  readonly kind: string;
  readonly apiVersion: string;
  /** `/api/v1/pods`. */
  readonly path: string;
  /** The apiVersion whose reader reads the objects, if it is not their own. */
  readonly readAs?: string;
  /** What is kept of each object, if it is not what policy reads of its kind. */
  readonly shape?: Shape;
  /** `metadata.name=…`, for less than all of them. */
  readonly fieldSelector?: string;
  /** `app=web`, likewise. */
  readonly labelSelector?: string;
}

export const PODS: Resource = { kind: 'Pod', apiVersion: 'v1', path: '/api/v1/pods' };
export const NAMESPACES: Resource = { kind: 'Namespace', apiVersion: 'v1', path: '/api/v1/namespaces' };
export const NODES: Resource = { kind: 'Node', apiVersion: 'v1', path: '/api/v1/nodes' };
export const NETWORK_POLICIES: Resource = {
  kind: 'NetworkPolicy',
  apiVersion: 'networking.k8s.io/v1',
  path: '/apis/networking.k8s.io/v1/networkpolicies',
};

/** For their names only (servicesource.ts). */
export const SERVICES: Resource = { kind: 'Service', apiVersion: 'v1', path: '/api/v1/services' };

const POLICY_GROUP = 'policy.networking.k8s.io';

/** A policy kind that is there only as long as its CustomResourceDefinition is. */
export interface CustomPolicy {
  readonly kind: Exclude<PolicyKind, 'NetworkPolicy'>;
  readonly plural: string;
  /** The versions that can be read, the best one first. */
  readonly versions: readonly string[];
}

export const CUSTOM_POLICIES: readonly CustomPolicy[] = [
  { kind: 'ClusterNetworkPolicy', plural: 'clusternetworkpolicies', versions: ['v1beta1', 'v1alpha2'] },
  { kind: 'AdminNetworkPolicy', plural: 'adminnetworkpolicies', versions: ['v1alpha1'] },
  { kind: 'BaselineAdminNetworkPolicy', plural: 'baselineadminnetworkpolicies', versions: ['v1alpha1'] },
];

export function customResource({ kind, plural }: CustomPolicy, version: string, readAs?: string): Resource {
  const apiVersion = `${POLICY_GROUP}/${version}`;
  const path = `/apis/${apiVersion}/${plural}`;
  return { kind, apiVersion, path, ...(readAs && { readAs: `${POLICY_GROUP}/${readAs}` }) };
}

/** The one CustomResourceDefinition of that policy kind: nobody else's are read. */
export function definitionOf({ plural }: CustomPolicy): Resource {
  return {
    kind: 'CustomResourceDefinition',
    apiVersion: 'apiextensions.k8s.io/v1',
    path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    fieldSelector: `metadata.name=${plural}.${POLICY_GROUP}`,
  };
}

/** The part of a query that says which of the objects are meant. */
export function selection({ fieldSelector, labelSelector }: Resource): Query {
  return {
    ...(fieldSelector !== undefined && { fieldSelector }),
    ...(labelSelector !== undefined && { labelSelector }),
  };
}

/** The event that says that the object of that name (`shop/web`, or `node-1`) is gone. */
export function goneEvent({ kind }: Resource, name: string): ClusterEvent {
  switch (kind) {
    case 'Pod':
      return { type: 'pod', key: name as `${string}/${string}` };
    case 'Namespace':
      return { type: 'namespace', key: name };
    case 'Node':
      return { type: 'node', key: name };
    default:
      return { type: 'policy', key: `${kind} ${name}` as PolicyId };
  }
}
