import { versioned } from '../answers/schema.ts';
import { ageText, waitingTexts } from '../api/health/agentchecks.ts';
import type { Check, CheckState } from '../api/health/check.ts';
import type { StatusResponse } from '../api/rpc/messages.ts';
import { plural } from '../lib/text/plural.ts';
import pc from '../terminal/colours.ts';
import { isData, writeData } from '../terminal/data.ts';
import { HANG } from '../terminal/hang.ts';
import { type OutputOptions, writeLines } from '../terminal/output.ts';
import { socketOf, type WhereOptions } from './everynode/command.ts';
import { policyLines } from './policylines.ts';
import { askAgent, waitingOf } from './sources/askagent.ts';

export type StatusOptions = WhereOptions & OutputOptions;

const SHOWN_COMMITS = 3;
const COLOUR: Record<CheckState, (text: string) => string> = {
  ok: pc.green,
  warn: pc.yellow,
  fail: pc.red,
  unknown: pc.yellow,
};

/**
 * `sluice status`: shows the state of the agent behind the socket, or of all agents of a cluster. Exit code 1 if the node
 * is not ready.
 */
export async function statusCommand(options: StatusOptions): Promise<void> {
  const { output } = options;
  const socket = await socketOf(options);
  if (socket === undefined) return (await import('./everynode/clusterstatus.ts')).clusterStatus(options);
  const status = await askAgent(socket, agent => agent.status());
  if (isData(output)) await writeData(output, [statusObject(status)]);
  else writeLines(statusLines(status, Date.now(), output === 'wide'));
  if (!status.ready) process.exitCode = 1;
}

/** The status with names in the casing of all our JSON: `startedAtMs`. */
function statusObject(status: StatusResponse): object {
  return versioned('Status', inCamelCase(status) as object);
}

function inCamelCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inCamelCase);
  if (typeof value !== 'object' || value === null) return value;
  const name = (key: string) => key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [name(key), inCamelCase(each)]));
}

/** The lines of the status; the wide form has all known commits, else only the last few. */
export function statusLines(status: StatusResponse, nowMs: number, isWide = false): string[] {
  const { node, ready, objects, totals, started_at_ms } = status;
  const word = ready ? pc.green('ready') : pc.red('not ready');
  return [
    `${pc.bold(node)} is ${word}${problemCount(status)}; the agent has run for ${ageText(nowMs - started_at_ms)}`,
    '',
    ...status.checks.flatMap(checkLines),
    '',
    `${plural(objects.policies, 'policy')}${auditedText(objects)}, ${plural(objects.pods, 'pod')}, ${plural(objects.namespaces, 'namespace')}, ${plural(objects.nodes, 'node')}; ${lagText(status)}`,
    `${plural(totals.commits, 'commit')}, ${totals.failures} failed, ${plural(totals.drifts, 'repair')} of foreign changes`,
    ...status.commits.slice(0, isWide ? undefined : SHOWN_COMMITS).map(commit => commitLine(commit, nowMs)),
    ...section(policyLines(status, isWide)),
    ...section(problemLines(status.problems, isWide)),
  ];
}

function section(lines: readonly string[]): readonly string[] {
  return lines.length > 0 ? ['', ...lines] : [];
}

function lagText(status: StatusResponse): string {
  const { pending_events, lag_ms } = status;
  const events =
    pending_events > 0 ? [`${plural(pending_events, 'event')} on the way, for ${ageText(lag_ms)}`] : [];
  return [...events, ...waitingTexts(waitingOf(status))].join('; ') || 'nothing waits';
}

function auditedText({ audited = 0 }: StatusResponse['objects']): string {
  return audited === 0 ? '' : ` in force and ${audited} audited`;
}

function problemCount({ problems }: StatusResponse): string {
  if (problems.length === 0) return '';
  return `, with ${problems.length === 1 ? 'a problem' : `${problems.length} problems`} in what it reads`;
}

/** Thousands of policies may have one each. */
const MOST_PROBLEMS = 20;

function problemLines(problems: StatusResponse['problems'], isWide: boolean): string[] {
  const shown = isWide ? problems : problems.slice(0, MOST_PROBLEMS);
  const more = problems.length - shown.length;
  return [...shown.map(problemLine), ...(more > 0 ? [`  and ${more} more (-o wide lists them)`] : [])];
}

function problemLine({ severity, text }: StatusResponse['problems'][number]): string {
  const colour = severity === 'error' ? pc.red : pc.yellow;
  return `  ${colour(severity.padEnd(7))}  ${HANG}${text}`;
}

function checkLines({ name, state, reason, remedy }: Check): string[] {
  const line = `  ${COLOUR[state](state.padEnd(7))}  ${name.padEnd(22)} ${HANG}${reason}`;
  return remedy === '' ? [line] : [line, `  ${' '.repeat(32)}${HANG}${pc.dim(remedy)}`];
}

function commitLine(commit: StatusResponse['commits'][number], nowMs: number): string {
  const { at_ms, operations, took_ms, names, repairs } = commit;
  const nobodys = repairs ? 'repair' : 'what takes turns, or is made ready';
  const why = names.length === 0 ? nobodys : names.slice(0, 3).join(', ') + (names.length > 3 ? ', …' : '');
  return pc.dim(
    `  ${ageText(nowMs - at_ms)} ago: ${operations} operations in ${ageText(took_ms)} for ${why}`,
  );
}
