/** The agent's rounds in the log: one line for each that changed something, or was the first. */
import { layoutChange } from '../compiler/layout.ts';
import type { Cluster, ClusterEvent } from '../model/cluster.ts';
import {
  isQuarantined,
  type LastingStatus,
  type QuarantinedPolicy,
  quarantineProblem,
  statusCounts,
} from '../model/policystatus.ts';
import { problemText } from '../model/problem.ts';
import type { Op } from '../nft/plan/op.ts';
import { planText } from '../nft/plan/plantext.ts';

import type { Committed } from './committed.ts';
import type { Log } from './log.ts';
import type { Observer } from './observer.ts';

const MOST_NAMES_IN_A_LINE = 5;

export function commitLog(log: Log): Pick<Observer, 'committed' | 'drifted' | 'policyStatuses'> {
  let inQuarantine: readonly QuarantinedPolicy[] = [];
  let others = '';
  let inForce: Cluster['policies'] = new Map();
  return {
    policyStatuses: statuses => {
      const quarantined = statuses.filter(isQuarantined);
      logQuarantine(log, inQuarantine, quarantined, inForce);
      inQuarantine = quarantined;
      others = logOthers(log, others, statuses);
    },
    committed: committed => {
      inForce = committed.cluster.policies;
      logCommit(log, committed);
    },
    drifted: (repair: readonly Op[]) =>
      log.warn(
        { ops: repair.length, repair: planText(repair) },
        'another process changed our tables; repairing',
      ),
  };
}

function logQuarantine(
  log: Log,
  before: readonly QuarantinedPolicy[],
  after: readonly QuarantinedPolicy[],
  inForce: Cluster['policies'],
): void {
  const details = new Map(before.map(({ id, detail }) => [id, detail]));
  const entered = after.filter(({ id, detail }) => details.get(id) !== detail);
  for (const status of entered.slice(0, MOST_LINES))
    log.error({ policy: status.id }, `quarantine: ${problemText(quarantineProblem(status))}`);
  if (entered.length > MOST_LINES)
    log.error({}, `quarantine: ${entered.length - MOST_LINES} more policies have come into it`);
  const held = new Set(after.map(({ id }) => id));
  const left = before.filter(({ id }) => !held.has(id));
  for (const { id } of left.slice(0, MOST_LINES))
    log.info(
      { policy: id },
      `quarantine: ${id} ${inForce.has(id) ? 'has left it, its rules are in force' : 'is gone'}`,
    );
  if (left.length > MOST_LINES)
    log.info({}, `quarantine: ${left.length - MOST_LINES} more policies have left it`);
}

/** A line for each policy of a change, because authors look for theirs; a tenant may have thousands. */
const MOST_LINES = 20;

/** One line for all of them, because a tenant may have thousands; returns its text. */
function logOthers(log: Log, before: string, statuses: readonly LastingStatus[]): string {
  const others = statuses.filter(({ kind }) => kind !== 'quarantined' && kind !== 'suspected');
  const now = statusCounts(others).join(', ');
  if (now === '' && before !== '')
    log.info({}, 'no policy is over-budget, held, closed, uncertain or audited any more');
  else if (now !== before)
    log.info({ policies: others.length }, `policies that are not in force as written: ${now}`);
  return now;
}

function logCommit(log: Log, { cause, names, ops, tookMs, cluster, unknownBefore }: Committed): void {
  // No line for a round without operations: its flush may only have continued postponed work.
  if (ops.length === 0 && (cause === 'look' || (cause === 'change' && names.length === 0))) return;
  const { pods, policies } = cluster;
  const fields = { ops: ops.length, tookMs: Math.round(tookMs), pods: pods.size, policies: policies.size };
  // The round only continued with postponed work or preparations, without a new event.
  const isBackground = cause === 'change' && names.length === 0 && !unknownBefore;
  const level = cause === 'change' && (ops.length === 0 || isBackground) ? 'debug' : 'info';
  const background = 'rules follow what takes turns, or is made ready';
  const text = cause === 'start' ? startText(ops) : isBackground ? background : changeText(names, ops);
  log[level](fields, text);
}

function changeText(names: readonly string[], ops: readonly Op[]): string {
  if (names.length === 0) return 'rules repaired';
  const rest = names.length - MOST_NAMES_IN_A_LINE;
  const shown = names.slice(0, MOST_NAMES_IN_A_LINE).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
  return ops.length === 0 ? `nothing to change for ${shown}` : `rules follow ${shown}`;
}

function startText(ops: readonly Op[]): string {
  if (ops.length === 0) return 'rules in force: those in the kernel were right';
  const layout = layoutChange(ops);
  if (layout === undefined) return 'rules in force';
  const before = layout.from === undefined ? 'without the number of a layout' : `of layout ${layout.from}`;
  return `rules in force: another agent left tables ${before}, which are of layout ${layout.to} now`;
}

/** `Pod shop/web (gone)`. */
export function eventText({ type, key, value }: ClusterEvent): string {
  const noun = { pod: 'Pod ', namespace: 'Namespace ', node: 'Node ', policy: '', hostPort: 'host port ' }[
    type
  ];
  return `${noun}${key}${value === undefined ? ' (gone)' : ''}`;
}
