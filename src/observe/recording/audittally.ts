/** What audited policies would have made of the connections of a node, counted as they come, within bounds. */

import { InTurns } from '../../lib/fairness/inturns.ts';
import { enforced } from '../../model/audited.ts';
import type { Flow } from '../../model/flow.ts';
import { type Direction, namespaceOfPolicy, type Policy, type PolicyId } from '../../model/policy.ts';
import { mayAffect, viewWith } from '../../semantics/audit.ts';
import { judgeDirection } from '../../semantics/evaluate.ts';
import type { View } from '../../semantics/view.ts';

/** The most policies that are judged; namespaces take turns, each in the order of its policies' names. */
export const MOST_AUDITED = 50;
/** The time for all policies together: connections beyond it are not judged, but counted. */
const JUDGING_MS = 4;
const OF_EACH_MS = 40;
/** A process that was stopped in the midst of a judgement does not pay for all of that. */
const MOST_OWED_MS = 1_000;
const MOST_EXAMPLES = 20;

export interface AuditTotal {
  readonly policy: PolicyId;
  /** The time since which the policy has been audited in this version. */
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
export interface ObservedConnection {
  readonly flow: Flow;
  readonly directions: readonly Direction[];
  readonly was: 'allow' | 'deny';
  /** `guest/visitor -> shop/db:5432/TCP`. */
  readonly text: string;
}

export class AuditTally {
  readonly #view: View;
  readonly #now: () => number;
  readonly #counted = new Map<PolicyId, Counted>();
  /** All audited policies, in turns: a namespace with very many takes no place from another. */
  readonly #inTurns = new InTurns<PolicyId>(MOST_AUDITED, namespaceOfPolicy);
  readonly #known = new Set<PolicyId>();
  #unjudged = 0;
  /** Below zero where one judgement took more than was left: those that come wait until it is made up for. */
  #leftMs = JUDGING_MS;
  #atMs: number;
  /** The policy at which the next turn begins: the one at which the time of the last turn ended. */
  #first = 0;

  /** `now`: milliseconds with fractions, of a clock that is never set. */
  constructor(view: View, now: () => number) {
    this.#view = view;
    this.#now = now;
    this.#atMs = now();
  }

  /** The counts of a policy start again when it changes. `changed`: the only policies that may differ from before. */
  follow(
    audited: ReadonlyMap<PolicyId, Policy>,
    nowMs: number,
    changed: Iterable<PolicyId> = new Set([...this.#known, ...audited.keys()]),
  ): void {
    for (const id of changed) this.#take(id, audited.has(id));
    const chosen = new Set(this.#inTurns.first);
    for (const id of this.#counted.keys()) if (!chosen.has(id)) this.#counted.delete(id);
    for (const id of chosen) {
      const policy = audited.get(id);
      if (policy === undefined || this.#counted.get(id)?.audited === policy) continue;
      const asEnforced = enforced(policy);
      const zero = { wouldDeny: 0, wouldAllow: 0, examples: new Map<string, number>() };
      const view = viewWith(this.#view, [asEnforced]);
      this.#counted.set(id, { policy: id, sinceMs: nowMs, ...zero, audited: policy, asEnforced, view });
    }
  }

  #take(id: PolicyId, isAudited: boolean): void {
    if (isAudited) {
      this.#known.add(id);
      this.#inTurns.add(id);
    } else if (this.#known.delete(id)) this.#inTurns.delete(id);
  }

  observe(batch: readonly ObservedConnection[]): void {
    this.#earn();
    const counted = [...this.#counted.values()];
    const judged = batch.findIndex(fared => !this.#judgeAll(fared, counted));
    if (judged >= 0) this.#unjudged += batch.length - judged;
  }

  get totals(): readonly AuditTotal[] {
    return [...this.#counted.values()];
  }

  /** Connections that came faster than they may be judged. */
  get unjudged(): number {
    return this.#unjudged;
  }

  /** Has all audited policies judge the connection; returns false if the time is over before that. */
  #judgeAll(fared: ObservedConnection, all: readonly Counted[]): boolean {
    const first = this.#first;
    for (let n = 0; n < all.length; n++) {
      const next = (first + n) % all.length;
      if (this.#leftMs <= 0) {
        this.#first = next;
        return false;
      }
      this.#judge(fared, all[next]!);
      this.#spend();
    }
    return true;
  }

  #earn(): void {
    const ms = this.#sinceLast() * (JUDGING_MS / OF_EACH_MS);
    this.#leftMs = Math.min(JUDGING_MS, this.#leftMs + ms);
  }

  #spend(): void {
    this.#leftMs = Math.max(-MOST_OWED_MS, this.#leftMs - this.#sinceLast());
  }

  #sinceLast(): number {
    const [lastMs, nowMs] = [this.#atMs, this.#now()];
    this.#atMs = nowMs;
    return nowMs - lastMs;
  }

  #judge({ flow, directions, was, text }: ObservedConnection, counted: Counted): void {
    if (!mayAffect(this.#view, counted.asEnforced, flow)) return;
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
