/**
 * The status of a policy on a node, as one union. A policy without a status is in force as its author wrote it.
 *
 *     new ──▶ isolating ──▶ in force ◀──▶ pending: an edit waits, and the last good version is in force
 *                │              │
 *                └──────────────┴──▶ suspected ──▶ quarantined: the kernel refuses it, or there is no room for it
 *
 *     as its source reads it: over-budget, held, closed, uncertain, audited
 *
 * Admission (src/agent/admission) brings them together; `sluice status`, `inspect`, the log, metrics and Events are made from
 * its list. A version that differs from what the author wrote says why itself (`Policy.closed`), for `explain`. A policy
 * whose change waits may have another status beside: that of the version that it asks for, or that it is held at.
 */
import { firstOf } from '../lib/text/firstof.ts';
import {
  type Closed,
  isAsWritten,
  namespaceOfPolicy,
  type Policy,
  type PolicyId,
  type PolicyKind,
} from './policy.ts';
import type { ObjectReference, Problem } from './problem.ts';

export type PolicyStatus = WaitingPolicy | LastingStatus;

/** What does not end by itself with one of the next batches. */
export type LastingStatus = SuspectedPolicy | QuarantinedPolicy | StatusAsRead;

export interface WaitingPolicy {
  readonly id: PolicyId;
  /** Isolating: no version with its rules has been in force yet; a version that only isolates is. */
  readonly kind: 'pending' | 'isolating';
  /** What waits. Of a new policy nothing is in force, or what only isolates. */
  readonly change: 'new' | 'edit' | 'deletion';
  readonly sinceMs: number;
}

/** The kernel refused a batch, and the agent tries whether this policy is the cause. */
export interface SuspectedPolicy {
  readonly id: PolicyId;
  readonly kind: 'suspected';
  readonly keepsLastVersion: boolean;
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

/** What is known of a policy before it comes to the agent, whatever the node. */
export interface StatusAsRead {
  readonly id: PolicyId;
  /**
   * Over-budget: larger than a policy, or the policies of one namespace, may be. Held: deleted, perhaps with its namespace,
   * whose pods still run. Closed: it denies or passes nodes, which are not read yet. Uncertain: a part of its subject cannot
   * be read (N68). Audited: never in force.
   */
  readonly kind: (typeof STATUSES_AS_READ)[number];
  readonly reason: string;
}

/** The statuses of a policy before it comes to the agent. */
export const STATUSES_AS_READ = ['over-budget', 'held', 'closed', 'uncertain', 'audited'] as const;

/** In the order in which people see them. */
export const POLICY_STATUSES = [
  'pending',
  'isolating',
  'suspected',
  'quarantined',
  ...STATUSES_AS_READ,
] as const satisfies readonly PolicyStatus['kind'][];

/** A status for readers outside the agent. */
export interface StatusText {
  readonly policy: string;
  readonly status: string;
  readonly reason: string;
}

export function statusText(status: PolicyStatus): StatusText {
  return { policy: status.id, status: status.kind, reason: statusReason(status) };
}

export function isQuarantined(status: PolicyStatus): status is QuarantinedPolicy {
  return status.kind === 'quarantined';
}

const WHY: Record<Closed, string> = {
  'rules follow': 'what it allows is on its way',
  'policy too large': 'it is larger than a policy may be',
  'namespace too large': 'the policies of its namespace are more than they may be',
  'no room': 'there is no room on this node for the pods that it means',
  refused: 'the kernel of this node refuses its rules',
  deleted: 'it is deleted, and it is not known yet whether its namespace is being deleted too',
  'nodes unread':
    'the nodes have not been read yet, and any address may be one of theirs: a rule that denies or passes nodes denies all',
};

export function whyClosed(closed: Closed): string {
  return WHY[closed];
}

/** Why the version that is in force allows nothing; undefined where it may allow something. */
export function whyNothingIsAllowed({ closed }: Policy): string | undefined {
  return closed && closed !== 'nodes unread' ? WHY[closed] : undefined;
}

const SOURCE_KINDS: Partial<Record<Closed, StatusAsRead['kind']>> = {
  'policy too large': 'over-budget',
  'namespace too large': 'over-budget',
  deleted: 'held',
  'nodes unread': 'closed',
};

/** The status of a policy as its source has read it. */
export function statusAsRead(policy: Policy): StatusAsRead | undefined {
  const { id, closed, audited } = policy;
  if (isAsWritten(policy)) return undefined;
  if (audited) return { id, kind: 'audited', reason: AUDITED };
  if (closed === undefined) return { id, kind: 'uncertain', reason: UNCERTAIN };
  const kind = SOURCE_KINDS[closed];
  return kind && { id, kind, reason: WHY[closed] };
}

const AUDITED = 'it is never in force, and what it would do is counted';
const UNCERTAIN =
  'a part of the selector of its subject cannot be read: where it may select a pod it denies and allows nothing';

const WAITS: Record<WaitingPolicy['change'], string> = {
  new: 'it waits for its turn, and nothing of it is in force yet',
  edit: 'an edit of it waits for its turn, and its last good version is in force',
  deletion: 'its deletion waits for its turn, and its last good version is in force',
};

/** What is so about the policy, and what is in force instead. */
export function statusReason(status: PolicyStatus): string {
  switch (status.kind) {
    case 'pending':
      return WAITS[status.change];
    case 'isolating':
      return `it isolates what it selects: ${WHY['rules follow']}`;
    case 'suspected':
      return `the kernel refused a batch, and the agent tries whether this policy is the cause: ${insteadOf(status)}`;
    case 'quarantined':
      return `${quarantineMessage(status)}: ${insteadOf(status)}`;
    default:
      return status.reason;
  }
}

/** `2 over-budget (NetworkPolicy shop/a, NetworkPolicy shop/b)`, for each kind that there is. */
export function statusCounts(statuses: readonly Pick<PolicyStatus, 'id' | 'kind'>[]): string[] {
  return POLICY_STATUSES.flatMap(kind => {
    const its = statuses.filter(status => status.kind === kind);
    return its.length === 0 ? [] : [`${its.length} ${kind} (${firstOf(its, MOST_NAMED, ({ id }) => id)})`];
  });
}

const MOST_NAMED = 3;

/** What is wrong with a policy in quarantine, for its author. */
export function quarantineProblem(status: QuarantinedPolicy): Problem {
  const { id } = status;
  const [message, effect] = [quarantineMessage(status), insteadOf(status)];
  return { severity: 'error', object: id, about: referenceTo(id), message, effect };
}

function quarantineMessage({ reason, detail }: QuarantinedPolicy): string {
  return reason === 'no room' ? detail : `the kernel refuses its rules (${detail})`;
}

function insteadOf(status: SuspectedPolicy | QuarantinedPolicy): string {
  if (status.keepsLastVersion) return 'its last good version stays in force until it changes';
  const hasNoRoom = status.kind === 'quarantined' && status.reason === 'no room';
  return `it isolates the pods that it selects and allows nothing until it changes${hasNoRoom ? ', or there is room' : ''}`;
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
