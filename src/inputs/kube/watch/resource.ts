import type { ClusterEvent } from '../../../model/cluster.ts';
import type { PolicyId, PolicyKind } from '../../../model/policy.ts';
import type { Problem } from '../../../model/problem.ts';
import type { Query } from '../client/api.ts';
import type { Shape } from '../client/skim.ts';
import { asMap, asMaps } from '../report/identity.ts';

/** A kind of object, and where the API server keeps it. */
export interface Resource {
  readonly kind: string;
  readonly apiVersion: string;
  /** `/api/v1/pods`. */
  readonly path: string;
  /** The apiVersion whose reader reads the objects, if it is not their own. */
  readonly readAs?: string;
  /** The node whose pods have their uid, if not all. */
  readonly uidsOn?: string;
  /** The fields that are kept of each object, if not those that policy reads of its kind. */
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

/** Services are read for their names only (servicesource.ts). */
export const SERVICES: Resource = { kind: 'Service', apiVersion: 'v1', path: '/api/v1/services' };

const POLICY_GROUP = 'policy.networking.k8s.io';

/** A policy kind that exists only as long as its CustomResourceDefinition does. */
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

/** The one CustomResourceDefinition of that policy kind; no others are read. */
export function definitionOf({ plural }: CustomPolicy): Resource {
  return {
    kind: 'CustomResourceDefinition',
    apiVersion: 'apiextensions.k8s.io/v1',
    path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    fieldSelector: `metadata.name=${plural}.${POLICY_GROUP}`,
  };
}

/** The part of a query that selects objects. */
export function selection({ fieldSelector, labelSelector }: Resource): Query {
  return {
    ...(fieldSelector !== undefined && { fieldSelector }),
    ...(labelSelector !== undefined && { labelSelector }),
  };
}

/** The event for the deletion of the object of that name (`shop/web`, or `node-1`). */
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

/** The versions in which a CustomResourceDefinition serves its policies. */
export type Served =
  /** `readAs`: a version that is unknown here is read as the best known one. */
  | { readonly type: 'version'; readonly version: string; readonly readAs?: string }
  /** There may be policies, but they cannot be read now; `versions` are those in which they are served. */
  | { readonly type: 'unreadable'; readonly versions: readonly string[] }
  /** No definition, no policies. */
  | { readonly type: 'nowhere' };

/** The best version to read the policies in, of a definition; undefined is one that does not exist. */
export function servedVersion(definition: unknown, policy: CustomPolicy): Served {
  if (definition === undefined) return { type: 'nowhere' };
  return chooseVersion(isEstablished(definition) ? servedVersions(definition) : [], policy);
}

/** The best of the versions that are served. */
export function chooseVersion(served: readonly string[], { versions }: CustomPolicy): Served {
  const known = versions.find(version => served.includes(version));
  if (known !== undefined) return { type: 'version', version: known };
  const unknown = mostLikeOurs(served);
  if (unknown === undefined) return { type: 'unreadable', versions: served };
  return { type: 'version', version: unknown, readAs: versions[0]! };
}

export function whyUnreadable(
  { versions }: Extract<Served, { type: 'unreadable' }>,
  policy: CustomPolicy,
): string {
  if (versions.length === 0) return 'its definition is there, and it is served in no version';
  return `is served only as ${versions.join(', ')}, and can be read only as ${policy.versions.join(' or ')}`;
}

/** The problem of the served versions themselves, apart from those of policies. */
export function versionProblem(served: Served, policy: CustomPolicy): Problem | undefined {
  const { kind } = policy;
  const problem = (message: string, effect: string): Problem => ({
    severity: 'error',
    object: kind,
    message,
    effect,
  });
  if (served.type === 'unreadable' && served.versions.length > 0)
    return problem(whyUnreadable(served, policy), 'what was last known of these policies stays in force');
  if (served.type !== 'version' || served.readAs === undefined) return undefined;
  return problem(
    `is served only as ${served.version}, which is not known here`,
    `it is read as ${served.readAs}: a rule with anything that was not in it matches nothing if it accepts, and denies everything if it denies or passes`,
  );
}

const VERSION = /^v(\d+)(?:(alpha|beta)(\d+))?$/;
const STABILITY = ['', 'beta', 'alpha'];

/** The version to read if none is known here: stable versions before others, and older ones before newer ones. */
function mostLikeOurs(served: readonly string[]): string | undefined {
  const rank = (version: string) => {
    const [, major, level = '', minor = '0'] = VERSION.exec(version)!;
    return STABILITY.indexOf(level) * 1e6 + Number(major) * 1e3 + Number(minor);
  };
  return served.filter(version => VERSION.test(version)).toSorted((a, b) => rank(a) - rank(b))[0];
}

function servedVersions(definition: unknown): readonly string[] {
  return asMaps(asMap(asMap(definition).spec).versions)
    .filter(version => version.served === true)
    .map(version => String(version.name));
}

/** The server answers for a kind only once its names are accepted. */
function isEstablished(definition: unknown): boolean {
  const conditions = asMaps(asMap(asMap(definition).status).conditions);
  return conditions.some(({ type, status }) => type === 'Established' && status === 'True');
}
