/** What audited policies would have made of the connections of a node, counted as they come, within bounds. */
import { enforced } from '../model/audited.ts';
import type { Flow } from '../model/flow.ts';
import type { Direction, Policy, PolicyId } from '../model/policy.ts';
import { concerns, viewWith } from '../semantics/audit.ts';
import { judgeDirection } from '../semantics/evaluate.ts';
import type { View } from '../semantics/view.ts';

/** Those whose names come first are judged: nobody looks at more. */
export const MOST_AUDITED = 50;
/** Of all policies together, of what was read at once: connections beyond are not judged, and counted. */
const MOST_AT_ONCE = 2_000;
const MOST_EXAMPLES = 20;

export interface AuditTotal {
  readonly policy: PolicyId;
  /** Since the policy is audited as it is. */
  readonly sinceMs: number;
  readonly wouldDeny: number;
  readonly wouldAllow: number;
  /** How many of those that would have been denied went each way; of very many ways the first. */
  readonly examples: ReadonlyMap<string, number>;
}

interface Counted extends AuditTotal {
  wouldDeny: number;
  wouldAllow: number;
  readonly examples: Map<string, number>;
  readonly audited: Policy;
  readonly asEnforced: Policy;
  readonly view: View;
}

/** A connection as the rules of this node left it. */
export interface Fared {
  readonly flow: Flow;
  readonly directions: readonly Direction[];
  readonly was: 'allow' | 'deny';
  /** `guest/visitor -> shop/db:5432/TCP`. */
  readonly text: string;
}

export class AuditTally {
  readonly #view: View;
  readonly #counted = new Map<PolicyId, Counted>();
  #unjudged = 0;

  constructor(view: View) {
    this.#view = view;
  }

  /** What is counted of a policy begins anew when the policy changes. */
  follow(audited: ReadonlyMap<PolicyId, Policy>, nowMs: number): void {
    const chosen = [...audited.keys()].sort().slice(0, MOST_AUDITED);
    for (const id of this.#counted.keys()) if (!chosen.includes(id)) this.#counted.delete(id);
    for (const id of chosen) {
      const policy = audited.get(id)!;
      if (this.#counted.get(id)?.audited === policy) continue;
      const asEnforced = enforced(policy);
      const zero = { wouldDeny: 0, wouldAllow: 0, examples: new Map<string, number>() };
      const view = viewWith(this.#view, [asEnforced]);
      this.#counted.set(id, { policy: id, sinceMs: nowMs, ...zero, audited: policy, asEnforced, view });
    }
  }

  note(batch: readonly Fared[]): void {
    let judged = 0;
    for (const fared of batch) {
      if (judged >= MOST_AT_ONCE) {
        this.#unjudged++;
        continue;
      }
      judged += this.#counted.size;
      for (const counted of this.#counted.values()) this.#judge(fared, counted);
    }
  }

  get totals(): readonly AuditTotal[] {
    return [...this.#counted.values()];
  }

  /** Connections that came faster than they may be judged. */
  get unjudged(): number {
    return this.#unjudged;
  }

  #judge({ flow, directions, was, text }: Fared, counted: Counted): void {
    if (!concerns(this.#view, counted.asEnforced, flow)) return;
    const changes = (to: 'allow' | 'deny') => (direction: Direction) =>
      judgeDirection(counted.view, direction, flow).verdict === to &&
      judgeDirection(this.#view, direction, flow).verdict !== to;
    if (was === 'deny') {
      if (directions.every(changes('allow'))) counted.wouldAllow++;
      return;
    }
    if (!directions.some(changes('deny'))) return;
    counted.wouldDeny++;
    const { examples } = counted;
    if (examples.has(text) || examples.size < MOST_EXAMPLES)
      examples.set(text, (examples.get(text) ?? 0) + 1);
  }
}

/** `would have denied 14 connections: guest/visitor -> shop/db:5432/TCP (12), …`. */
export function auditText({ wouldDeny, wouldAllow, examples }: AuditTotal): string {
  const most = [...examples].sort(([, a], [, b]) => b - a).slice(0, MOST_SHOWN);
  const shown = most.map(([text, count]) => `${text} (${count})`).join(', ');
  const more = wouldDeny - most.reduce((sum, [, count]) => sum + count, 0);
  const denied = `would have denied ${wouldDeny} ${wouldDeny === 1 ? 'connection' : 'connections'}`;
  return [
    wouldDeny === 0 ? denied : `${denied}: ${shown}${more > 0 ? `, and ${more} more` : ''}`,
    ...(wouldAllow > 0 ? [`it would have allowed ${wouldAllow} that were denied`] : []),
  ].join('; ');
}

const MOST_SHOWN = 5;
