import { didYouMean } from '../../../lib/text/didyoumean.ts';
import type { ClusterEvent } from '../../../model/cluster.ts';
import type { Problem } from '../../../model/problem.ts';
import { metadataOf, typeOf } from '../report/identity.ts';
import { decodeAdminNetworkPolicy } from './adminnetworkpolicy.ts';
import { decodeBaselineAdminNetworkPolicy } from './baselineadminnetworkpolicy.ts';
import { decodeClusterNetworkPolicy } from './clusternetworkpolicy.ts';
import { describe, Field, type Report } from './fields.ts';
import { decodeNamespace } from './namespace.ts';
import { decodeNetworkPolicy } from './networkpolicy.ts';
import { decodeNode } from './node.ts';
import { decodePod } from './pod.ts';

/** What one Kubernetes object says. Without an event it changes nothing: the callers keep what they had. */
export interface Decoded {
  readonly kind?: string;
  /** `NetworkPolicy shop/web`: which object this is, also where it cannot be read. */
  readonly object?: string;
  /** Always with a value. */
  readonly event?: ClusterEvent;
  readonly problems: readonly Problem[];
}

type Decoder = (object: Field) => ClusterEvent | undefined;

const CLUSTER_GROUP = 'policy.networking.k8s.io';

/** One decoder per kind; the versions of one kind share a schema. */
const DECODERS: ReadonlyMap<string, Decoder> = new Map([
  ['v1 Pod', decodePod],
  ['v1 Namespace', decodeNamespace],
  ['v1 Node', decodeNode],
  ['networking.k8s.io/v1 NetworkPolicy', decodeNetworkPolicy],
  [`${CLUSTER_GROUP}/v1beta1 ClusterNetworkPolicy`, decodeClusterNetworkPolicy],
  [`${CLUSTER_GROUP}/v1alpha2 ClusterNetworkPolicy`, decodeClusterNetworkPolicy],
  [`${CLUSTER_GROUP}/v1alpha1 AdminNetworkPolicy`, decodeAdminNetworkPolicy],
  [`${CLUSTER_GROUP}/v1alpha1 BaselineAdminNetworkPolicy`, decodeBaselineAdminNetworkPolicy],
]);

/** Reads any value as one Kubernetes object. Kinds that have no say in policy give neither event nor problem. */
export function decodeObject(object: unknown, file?: string): Decoded {
  const decoded = decode(object);
  if (file === undefined) return decoded;
  return { ...decoded, problems: decoded.problems.map(problem => ({ file, ...problem })) };
}

function decode(object: unknown): Decoded {
  const { apiVersion, kind } = typeOf(object);
  if (apiVersion === undefined || kind === undefined) return { problems: [NO_OBJECT] };
  const decoder = DECODERS.get(`${apiVersion} ${kind}`);
  if (decoder === undefined) return { kind, problems: unknownVersion(apiVersion, kind, object) };
  const name = objectName(kind, object);
  const report: Report = { object: name, problems: [], errors: 0 };
  const event = decoder(new Field(object, '', 'the field is ignored', report));
  return { kind, object: name, problems: report.problems, ...(event && { event }) };
}

const POLICY_GROUPS = /^(networking\.k8s\.io|extensions|policy\.networking\.k8s\.io)\//;

/** A policy that nobody reads is worth a word; other groups have kinds of the same name, and their own readers. */
function unknownVersion(apiVersion: string, kind: string, object: unknown): readonly Problem[] {
  if (!POLICY_GROUPS.test(apiVersion) || NO_POLICIES.has(kind)) return [];
  const known = [...DECODERS.keys()].filter(type => type.endsWith(` ${kind}`) && kind.endsWith('Policy'));
  if (known.length === 0)
    return apiVersion.startsWith('extensions/') ? [] : [unknownKind(apiVersion, kind, object)];
  const versions = known.map(type => type.split(' ')[0]).join(', ');
  const message = `${describe(apiVersion)} is not one that can be read (${versions})`;
  const where = { object: objectName(kind, object), field: 'apiVersion' };
  return [{ severity: 'error', ...where, message, effect: 'the policy is not applied' }];
}

/** Kinds of these groups, and their lists, that have no say in policy. */
const NO_POLICIES = new Set(['Ingress', 'IngressClass', 'IPAddress', 'ServiceCIDR']);

/** A misspelt kind is a policy that somebody believes to be in force. */
function unknownKind(apiVersion: string, kind: string, object: unknown): Problem {
  const close = didYouMean(kind, kindsOf(apiVersion));
  const hint = close === undefined ? '' : ` (did you mean ${close}?)`;
  const message = `${describe(kind)} is no kind of ${apiVersion} that can be read${hint}`;
  const where = { object: objectName(kind, object), field: 'kind' };
  return { severity: 'error', ...where, message, effect: 'the policy is not applied' };
}

function kindsOf(apiVersion: string): string[] {
  const types = [...DECODERS.keys()].filter(type => type.startsWith(`${apiVersion} `));
  return types.map(type => type.slice(apiVersion.length + 1));
}

const NO_OBJECT: Problem = {
  severity: 'error',
  message: 'holds something that is no Kubernetes object: it needs an apiVersion and a kind',
  effect: 'it is ignored',
};

/** For messages only: what it is called, whether or not the name is one. */
export function objectName(kind: string, object: unknown): string {
  const { name, namespace } = metadataOf(object);
  return CLUSTER_SCOPED.has(kind) ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}

const CLUSTER_SCOPED = new Set([
  'Namespace',
  'Node',
  'ClusterNetworkPolicy',
  'AdminNetworkPolicy',
  'BaselineAdminNetworkPolicy',
  'CustomResourceDefinition',
]);
