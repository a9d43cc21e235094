/**
 * A change of a policy that waits, and what may go ahead of it. A policy of which no version has been in force isolates what
 * it selects while it waits, and its allow rules follow:
 *
 *     new ──▶ isolates, allows nothing ──▶ whole
 *      └─────────────────────────────────▶ whole, where it need not wait
 *
 * An edit keeps the last good version in force: the edit may go on to allow what is open now.
 */
import { namespaceOfPolicy, type Policy, type PolicyId, type Rule } from '../../model/policy.ts';
import type { PolicyChange } from '../../model/policychange.ts';
import { countEntries, PODS_PER_ENTRY } from '../../model/policysize.ts';
import { FAIRNESS } from './limits.ts';

/** A change of a policy that is in no batch yet. */
export interface Pending {
  readonly id: PolicyId;
  readonly sinceMs: number;
  readonly namespace: string;
  /** The version in force, or in the batch that is being committed. */
  readonly before: Policy | undefined;
  readonly value: Policy | undefined;
  /** The work to compile and to program both versions, and to look up pods for the change. */
  readonly weight: number;
  /** Whether it probably allows less than before. */
  readonly tightens: boolean;
  /** The look-ups of pods alone are more than a small change may weigh. */
  readonly looksAtMany: boolean;
  /** Whether no version of the policy has been in force with its allow rules. */
  readonly isNew: boolean;
  /** The pods that this version selects are isolated already. */
  readonly isIsolated: boolean;
}

interface Surroundings {
  readonly before: Policy | undefined;
  readonly nowMs: number;
  /** How many pods have to be asked. */
  readonly lookedAt: number;
  /** The change of the same policy that it replaces. */
  readonly waiting: Pending | undefined;
}

/** It keeps the place of the change that it replaces, which may have isolated other pods than this version selects. */
export function pendingOf({ id, value }: PolicyChange, around: Surroundings): Pending {
  const { before, nowMs, lookedAt, waiting } = around;
  return {
    id,
    namespace: namespaceOfPolicy(id),
    before,
    value,
    weight: weightOf(before) + weightOf(value) + weightOfLookUps(lookedAt),
    tightens: tightens(before, value),
    looksAtMany: isMany(lookedAt),
    sinceMs: waiting?.sinceMs ?? nowMs,
    isNew: before === undefined || (waiting?.isNew ?? false),
    isIsolated: waiting?.isIsolated === true && isolatesSame(before, value),
  };
}

/** A new policy isolates, and one that became smaller allows less. An audited policy does neither. */
function tightens(before: Policy | undefined, value: Policy | undefined): boolean {
  if (value === undefined || value.audited) return false;
  return before === undefined || weightOf(value) < weightOf(before);
}

/** Whether both versions isolate the same pods in the same directions. */
function isolatesSame(before: Policy | undefined, value: Policy | undefined): boolean {
  if (before === undefined || value === undefined) return false;
  const isolation = ({ subject, ingress, egress }: Policy) =>
    JSON.stringify([subject, ingress !== undefined, egress !== undefined]);
  return isolation(before) === isolation(value);
}

/** Whether evaluating this many pods alone costs more than a small change may. */
export function isMany(pods: number): boolean {
  return weightOfLookUps(pods) > FAIRNESS.small;
}

/** A cluster policy that denies would deny everything; an audited policy isolates nothing. */
export function mayIsolate({ value, namespace, isNew, isIsolated }: Pending): boolean {
  return isNew && !isIsolated && value !== undefined && !value.audited && namespace !== '';
}

/** Whether some version of the policy isolates the pods that it selects while its allow rules are not in force. */
export function isIsolating({ isNew, before }: Pending): boolean {
  return isNew && before !== undefined;
}

/** The part of a change that may be committed before the rest. It always counts as one entry. */
export function isolating(pending: Pending): Pending & { readonly value: Policy } {
  const value: Policy = { ...isolated(pending.value!), closed: 'rules follow' };
  return { ...pending, value, weight: weightOf(value) };
}

/** The change waits on, and `before` has gone ahead of it. */
export function isolatedBy(before: Policy, pending: Pending): Pending {
  return { ...pending, before, isIsolated: true, tightens: tightens(before, pending.value) };
}

/** How much work a policy is to compile and to program. */
export function weightOf(policy: Policy | undefined): number {
  return policy === undefined ? 0 : 1 + countEntries(policy);
}

function weightOfLookUps(pods: number): number {
  return Math.floor(pods / PODS_PER_ENTRY);
}

/**
 * The policy that is programmed in place of one whose rules cannot be: it isolates the pods that it selects and allows
 * nothing. As with parts that cannot be read (failclosed.ts), a rule that accepts matches nothing, and one that denies
 * or passes denies all.
 */
export function isolated(policy: Policy): Policy {
  const { ingress, egress, ...rest } = policy;
  return {
    ...rest,
    ...(ingress !== undefined && { ingress: withoutAccepts(ingress) }),
    ...(egress !== undefined && { egress: withoutAccepts(egress) }),
  };
}

function withoutAccepts(rules: readonly Rule[]): readonly Rule[] {
  const first = rules.find(({ action }) => action !== 'accept');
  return first === undefined ? [] : [{ path: first.path, action: 'deny', peers: 'any', ports: 'any' }];
}
