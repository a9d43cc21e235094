/**
 * A change of a policy that waits, and what may go ahead of it. A policy that nobody has had in force isolates what it
 * selects while it waits, and its allowances follow:
 *
 *     new ──▶ isolates, allows nothing ──▶ whole
 *      └─────────────────────────────────▶ whole, where it need not wait
 *
 * An edit keeps its last good version: what waits of it may be an allowance for what is open now.
 */
import { namespaceOfPolicy, type Policy, type PolicyId, type Rule } from '../../model/policy.ts';
import type { PolicyChange } from '../../model/policychange.ts';
import { ASKED_AS_ENTRY, countEntries } from '../../model/policysize.ts';
import { FAIRNESS } from './limits.ts';

/** A change of a policy that is in no batch yet. */
export interface WaitingPolicy {
  readonly id: PolicyId;
  readonly sinceMs: number;
}

export interface Pending extends WaitingPolicy {
  readonly namespace: string;
  /** What is in force, or on its way. */
  readonly before: Policy | undefined;
  readonly value: Policy | undefined;
  /** Of both, and of the pods that are asked for the change. */
  readonly weight: number;
  /** As far as a glance tells. */
  readonly tightens: boolean;
  /** These pods alone are more than a small change may weigh. */
  readonly asksMany: boolean;
  /** None of its versions has been in force with what it allows. */
  readonly isNew: boolean;
  /** Another version of it waited when this one came. */
  readonly isRewritten: boolean;
  /** What this version selects is isolated. */
  readonly isIsolated: boolean;
}

interface Surroundings {
  readonly before: Policy | undefined;
  readonly nowMs: number;
  readonly asks: number;
  /** The change of the same policy that it replaces. */
  readonly waiting: Pending | undefined;
}

/** It keeps the place of the one that waits. Another version may select others, whom nothing isolates yet. */
export function pendingOf({ id, value }: PolicyChange, around: Surroundings): Pending {
  const { before, nowMs, asks, waiting } = around;
  return {
    id,
    namespace: namespaceOfPolicy(id),
    before,
    value,
    weight: weightOf(before) + weightOf(value) + weightOfAsking(asks),
    tightens: tightens(before, value),
    asksMany: isMany(asks),
    sinceMs: waiting?.sinceMs ?? nowMs,
    isRewritten: waiting !== undefined,
    isNew: before === undefined || (waiting?.isNew ?? false),
    isIsolated: waiting?.isIsolated === true && isolatesAs(before, value),
  };
}

/** A policy that is new isolates, one that became smaller allows less. One that is audited isolates nobody, however new it is. */
function tightens(before: Policy | undefined, value: Policy | undefined): boolean {
  if (value === undefined || value.audited) return false;
  return before === undefined || weightOf(value) < weightOf(before);
}

/** Whether the one isolates whom the other does, in the same directions. */
function isolatesAs(before: Policy | undefined, value: Policy | undefined): boolean {
  if (before === undefined || value === undefined) return false;
  const told = ({ subject, ingress, egress }: Policy) =>
    JSON.stringify([subject, ingress !== undefined, egress !== undefined]);
  return told(before) === told(value);
}

/** To ask these pods alone is more than a small change may weigh. */
export function isMany(pods: number): boolean {
  return weightOfAsking(pods) > FAIRNESS.small;
}

export function isSmallChange({ weight }: Pick<Pending, 'weight'>): boolean {
  return weight <= FAIRNESS.small;
}

/** Of a policy of the whole cluster that denies, what isolates would deny all; one that is audited isolates nobody. */
export function mayIsolate({ value, namespace, isNew, isIsolated }: Pending): boolean {
  return isNew && !isIsolated && value !== undefined && !value.audited && namespace !== '';
}

/** Some version of it isolates what that selects, and its allowances are not in force. */
export function isIsolating({ isNew, before }: Pending): boolean {
  return isNew && before !== undefined;
}

/** What may go ahead of it: a change of one entry, whatever the policy weighs. */
export function isolating(pending: Pending): Pending & { readonly value: Policy } {
  const value: Policy = { ...isolated(pending.value!), awaitsAllowances: true };
  return { ...pending, value, weight: weightOf(value) };
}

/** It waits on, and that has gone ahead of it. */
export function isolatedBy(before: Policy, pending: Pending): Pending {
  return { ...pending, before, isIsolated: true, tightens: tightens(before, pending.value) };
}

/** How much work a policy is to compile and to program. */
export function weightOf(policy: Policy | undefined): number {
  return policy === undefined ? 0 : 1 + countEntries(policy);
}

/** Of a change for which so many pods of the cluster are asked. */
function weightOfAsking(pods: number): number {
  return Math.floor(pods / ASKED_AS_ENTRY);
}

/**
 * What is programmed for a policy whose rules cannot be programmed: it isolates what it selects and allows nothing. The
 * rule is that of every part that cannot be read (failclosed.ts): an accept matches nothing, a deny or pass denies.
 */
export function isolated(policy: Policy): Policy {
  const { ingress, egress, ...rest } = policy;
  return {
    ...rest,
    ...(ingress !== undefined && { ingress: withoutAllowances(ingress) }),
    ...(egress !== undefined && { egress: withoutAllowances(egress) }),
  };
}

function withoutAllowances(rules: readonly Rule[]): readonly Rule[] {
  const first = rules.find(({ action }) => action !== 'accept');
  return first === undefined ? [] : [{ path: first.path, action: 'deny', peers: 'any', ports: 'any' }];
}
