/**
 * The status of a policy on a node, as one value. A policy without a status is in force as its author wrote it.
 *
 *     new ──▶ isolating ──▶ in force ◀──▶ pending: an edit waits, and the last good version is in force
 *                │              │
 *                └──────────────┴──▶ quarantined: the kernel refuses it, or there is no room for it
 *
 * `sluice status`, the log, metrics and Events report it to the author. A version that only isolates also has the
 * reason in `Policy.isolateOnly`, for `explain`. Some policies only isolate already when they reach the agent's loop.
 */
import {
  type IsolateOnly,
  namespaceOfPolicy,
  type Policy,
  type PolicyId,
  type PolicyKind,
} from './policy.ts';
import type { ObjectReference, Problem } from './problem.ts';

export type PolicyStatus = WaitingPolicy | QuarantinedPolicy;

export interface WaitingPolicy {
  readonly id: PolicyId;
  /** Isolating: no version with its rules has been in force yet; a version that only isolates is. */
  readonly kind: 'pending' | 'isolating';
  readonly sinceMs: number;
}

export interface QuarantinedPolicy {
  readonly id: PolicyId;
  readonly kind: 'quarantined';
  readonly reason: 'refused' | 'no room';
  /** The kernel's error, or the room that is missing. */
  readonly detail: string;
  /** Whether its last good version is in force; otherwise it isolates what it selects and allows nothing. */
  readonly keepsLastVersion: boolean;
}

export function isWaiting(status: PolicyStatus): status is WaitingPolicy {
  return status.kind !== 'quarantined';
}

export function isQuarantined(status: PolicyStatus): status is QuarantinedPolicy {
  return status.kind === 'quarantined';
}

const WHY_NOTHING: Record<IsolateOnly, string> = {
  'rules follow': 'what it allows is on its way',
  'policy too large': 'it is larger than a policy may be',
  'namespace too large': 'the policies of its namespace are more than they may be',
  'no room': 'there is no room on this node for the pods that it means',
  refused: 'the kernel of this node refuses its rules',
  deleted: 'it is deleted, and nobody can say yet whether its namespace is being deleted too',
};

/** Why the version in force allows nothing; undefined if its rules are those that its author wrote. */
export function whyNothingIsAllowed({ isolateOnly }: Policy): string | undefined {
  return isolateOnly && WHY_NOTHING[isolateOnly];
}

/** The problem of a policy in quarantine, for its author. */
export function quarantineProblem({ id, reason, detail, keepsLastVersion }: QuarantinedPolicy): Problem {
  const hasNoRoom = reason === 'no room';
  const effect = keepsLastVersion
    ? 'its last good version stays in force until it changes'
    : `it isolates the pods that it selects and allows nothing until it changes${hasNoRoom ? ', or there is room' : ''}`;
  const message = hasNoRoom ? detail : `the kernel refuses its rules (${detail})`;
  return { severity: 'error', object: id, about: referenceTo(id), message, effect };
}

const VERSIONS: Record<PolicyKind, string> = {
  NetworkPolicy: 'networking.k8s.io/v1',
  ClusterNetworkPolicy: 'policy.networking.k8s.io/v1alpha2',
  AdminNetworkPolicy: 'policy.networking.k8s.io/v1alpha1',
  BaselineAdminNetworkPolicy: 'policy.networking.k8s.io/v1alpha1',
};

export function referenceTo(id: PolicyId): ObjectReference {
  const [kind, name = ''] = id.split(' ') as [PolicyKind, string];
  const namespace = namespaceOfPolicy(id);
  if (namespace === '') return { apiVersion: VERSIONS[kind], kind, name };
  return { apiVersion: VERSIONS[kind], kind, namespace, name: name.slice(namespace.length + 1) };
}
