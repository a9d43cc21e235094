/**
 * Audited policies, judged on the connections of this node: counted for metrics, and sometimes reported to their authors.
 * Where no policy is audited, no connection is followed.
 */

import type { Log } from '../../agent/log.ts';
import type { Observer } from '../../agent/observer.ts';
import type { AuditsView } from '../../api/rpc/view.ts';
import type { EventSpec } from '../../inputs/kube/report/event.ts';
import { type Rate, SourceRates } from '../../lib/fairness/rates.ts';
import { namespaceOfPolicy, type Policy, type PolicyId } from '../../model/policy.ts';
import { referenceTo } from '../../model/policystatus.ts';
import type { Denial } from '../../observe/denials/denial.ts';
import { flowOfDenial } from '../../observe/denials/flowofdenial.ts';
import { flowOf, type SeenFlow } from '../../observe/flows/seenflow.ts';
import type { FlowSource } from '../../observe/flows/source.ts';
import {
  AuditTally,
  type AuditTotal,
  auditText,
  type ObservedConnection,
} from '../../observe/recording/audittally.ts';
import { targetText } from '../../observe/recording/endname.ts';
import { isOfPolicy } from '../../observe/recording/seen.ts';
import type { View } from '../../semantics/view.ts';

/** Matches the names that events have for policies. */
const POLICY = /Policy /;
const LOOK_MS = 60_000;
/** Every node writes Events about a policy; more often, thousands of nodes would flood the API server. */
const TELL_MS = 6 * 3_600_000;
/** All Events share one queue: a namespace whose audited policies come and go must leave room in it for others. */
const OF_NAMESPACE: Rate = { burst: 50, perSecond: 1 / 60 };
const OF_ALL: Rate = { burst: 200, perSecond: 1 };
const MOST_NAMESPACES = 1_000;
const MOST_REPORTED = 10_000;

export interface AuditsOptions {
  readonly node: string;
  readonly view: View;
  readonly flows: Pick<FlowSource, 'follow'>;
  readonly denials: { follow(follower: (denial: Denial) => void): () => void };
  readonly log: Log;
  /** Default: the clock's. */
  readonly now?: () => number;
}

interface Reported {
  readonly atMs: number;
  readonly text: string;
}

export class Audits implements Pick<Observer, 'committed'>, AuditsView {
  readonly #options: AuditsOptions;
  readonly #now: () => number;
  readonly #tally: AuditTally;
  #audited: ReadonlyMap<PolicyId, Policy> | undefined;
  readonly #rates = new SourceRates(OF_NAMESPACE, OF_ALL, MOST_NAMESPACES);
  /** The last Event about each policy, the latest last. Kept when its audit ends, since it may begin again. */
  readonly #reported = new Map<PolicyId, Reported>();
  #ends: readonly (() => void)[] = [];
  #hasReportedMany = false;
  /** Whether some policy was audited at the last look. */
  #isAuditing = false;
  #report: (spec: EventSpec) => void = () => undefined;

  constructor(options: AuditsOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#tally = new AuditTally(options.view, () => performance.now());
  }

  get totals(): readonly AuditTotal[] {
    return this.#tally.totals;
  }

  get unjudged(): number {
    return this.#tally.unjudged;
  }

  /** Sets the function that receives Events. */
  reportTo(report: (spec: EventSpec) => void): void {
    this.#report = report;
  }

  readonly committed: Observer['committed'] = ({ cluster: { audited }, names }) => {
    if (!this.#isAuditing && !audited?.size) return;
    const isOther = audited !== this.#audited;
    const changed = names.filter((name): name is PolicyId => POLICY.test(name));
    this.#audited = audited;
    if (isOther) this.look();
    else if (changed.length > 0) this.look(changed);
  };

  /** Takes in which policies are audited, all of them or those that have changed, and reports what has news. */
  look(changed?: readonly PolicyId[]): void {
    const audited = this.#audited ?? new Map<PolicyId, Policy>();
    this.#tally.follow(audited, this.#now(), changed);
    this.#isAuditing = audited.size > 0;
    this.#warnOfMany(audited.size);
    if (audited.size === 0) this.close();
    else if (this.#ends.length === 0) this.#listen();
    for (const total of this.#tally.totals) this.#tell(total);
  }

  close(): void {
    for (const end of this.#ends) end();
    this.#ends = [];
  }

  #listen(): void {
    const { flows, denials } = this.#options;
    const timer = setInterval(() => this.look(), LOOK_MS).unref();
    this.#ends = [
      flows.follow(batch => this.#tally.observe(batch.flows.map(seen))),
      denials.follow(denial => this.#tally.observe(denied(denial))),
      () => clearInterval(timer),
    ];
  }

  /** Warns once: policies that come and go would fill the log. */
  #warnOfMany(audited: number): void {
    const unjudged = audited - this.#tally.totals.length;
    if (unjudged === 0 || this.#hasReportedMany) return;
    this.#hasReportedMany = true;
    const many = `${audited} policies are audited, more than the agent judges: ${unjudged} are not judged`;
    this.#options.log.warn({ audited, unjudged }, `${many}, those of each namespace whose names come last`);
  }

  #tell(total: AuditTotal): void {
    const { policy, sinceMs, wouldDeny, wouldAllow } = total;
    if (wouldDeny + wouldAllow === 0) return;
    const nowMs = this.#now();
    const last = this.#reported.get(policy);
    if (last !== undefined && nowMs - last.atMs < TELL_MS) return;
    const text = auditText(total);
    if (last?.text === text) return;
    if (!this.#rates.take(namespaceOfPolicy(policy), nowMs)) return;
    this.#remember(policy, { atMs: nowMs, text });
    const { node, log } = this.#options;
    const note = `audited, not enforced: on node ${node} ${text} (in ${minutes(nowMs - sinceMs)})`;
    log.info({ policy, wouldDeny, wouldAllow }, `${policy} is ${note}`);
    this.#report({ about: referenceTo(policy), type: 'Normal', reason: 'PolicyAudited', note });
  }

  #remember(policy: PolicyId, reported: Reported): void {
    this.#reported.delete(policy);
    this.#reported.set(policy, reported);
    if (this.#reported.size > MOST_REPORTED) this.#reported.delete(this.#reported.keys().next().value!);
  }
}

function minutes(ms: number): string {
  const whole = Math.max(1, Math.round(ms / 60_000));
  return whole < 120 ? `${whole} min` : `${Math.round(whole / 60)} h`;
}

function seen(flow: SeenFlow): ObservedConnection {
  return { flow: flowOf(flow), directions: flow.directions, was: 'allow', text: textOf(flow) };
}

function denied(denial: Denial): ObservedConnection[] {
  const { direction } = denial.cause;
  if (direction === undefined || !isOfPolicy(denial)) return [];
  return [{ flow: flowOfDenial(denial), directions: [direction], was: 'deny', text: textOf(denial) }];
}

function textOf({ from, to, protocol, port }: SeenFlow | Denial): string {
  const name = (end: SeenFlow['from']) => end.workload ?? end.pod ?? end.address;
  return `${name(from)} -> ${targetText(name(to), protocol, port)}`;
}
