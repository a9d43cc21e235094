/** `sluice diff OLD NEW`: the connections that open and close, and which policies do it. */

import { changesByWorkload } from '../../answers/reach/diff/byworkload.ts';
import {
  afterText,
  beforeText,
  diffMarkdown,
  diffObject,
  endsText,
  idleNotes,
  internetText,
  kindText,
  summary,
  whatText,
} from '../../answers/reach/diff/difftext.ts';
import { type ChangeView, type DiffView, diffOf } from '../../answers/reach/diff/diffview.ts';
import type { Compared } from '../../answers/reach/diff/units.ts';
import { escaped, noteMarkdown } from '../../answers/reach/documents.ts';
import { guessNotes, hostNetworkChanges, unreadNotes } from '../../answers/reach/leftout.ts';
import { listed } from '../../answers/reach/rows.ts';
import { plural } from '../../lib/text/plural.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import { memberName } from '../../model/workload.ts';
import type { Recording } from '../../observe/recording/recording.ts';
import pc from '../../terminal/colours.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { isData, writeData } from '../../terminal/data.ts';
import { terminalWidth, writeDocument, writeLines } from '../../terminal/output.ts';
import { withProgress } from '../../terminal/progress.ts';
import { wrap } from '../../terminal/wrap.ts';
import { connectionsAbout, readRecordings, recordingAbout } from '../recording/read.ts';
import { writeNotes } from '../sources/readstate.ts';
import {
  DEFAULT_SOCKET,
  guessesWith,
  isAnybodyIn,
  isInScope,
  isScopeSure,
  judgedUnknownPods,
  refuseUnknownNamespace,
  type Scope,
  scopeOf,
} from '../sources/state.ts';
import { type Cut, type Cuts, cutsOf, cutsOfRecording, readOpenConnections, readRecording } from './cuts.ts';
import { readSides, type SideOptions, type Sides } from './sides.ts';

export type DiffOptions = SideOptions & {
  readonly output: 'text' | 'wide' | 'json' | 'yaml' | 'md';
  readonly unknownPods?: UnknownPods;
  /** A file of connections, `-`, or `@agent`; where the old side is the agent's, those that are open now. */
  readonly connections?: string;
  /** The files that `sluice record` wrote. */
  readonly recorded?: readonly string[];
};

/** Exit code 0 where nothing opens or closes, else 1; 2 where something depends on policies that could not be read. */
export async function diffCommand(old: string, now: string, options: DiffOptions): Promise<void> {
  if (options.connections === '-' && [old, now, ...(options.with ?? [])].includes('-'))
    throw new CommandError('standard input (-) can be read only once');
  const scope = scopeOf(options);
  const sides = await readSides(old, now, options);
  const recording = options.recorded && (await readRecordings(options.recorded));
  refuseEmpty(scope, sides, recording);
  const said = options.unknownPods ?? sides.unknownPods;
  const unknownPods = judgedUnknownPods(said, sides.guesses);
  const view = withProgress('comparing all connections', sides.now.cluster, () =>
    diffOf(sides.old, sides.now, unknownPods, pod => isInScope(scope, pod), sides.sureOf),
  );
  const cuts = await cutsFor(old, sides, recording, options, unknownPods, scope);
  const idle = [
    ...emptyNotes(sides.old, sides.now, scope),
    ...hostNetworkChanges(sides.old, sides.now, item => isInScope(scope, item)),
    ...unreadNotes([sides.old, sides.now], scope.namespace),
    ...guessNotes(
      [sides.old.cluster, sides.now.cluster],
      guessesWith(sides, said),
      view.changes.some(isToNode),
    ),
    ...idleNotes(sides.old, sides.now, options.namespace),
    ...view.notes,
  ];
  writeNotes(idle);
  await write(options.output, view, cuts, [...sides.notes, ...idle, ...(cuts?.notes ?? [])]);
  const isSure = isScopeSure(scope, sides.sureOf);
  const isOpen = sides.sureOf !== undefined && view.changes.some(({ undecided }) => undecided);
  if (view.changes.length > 0) process.exitCode = 1;
  if (!isSure || isOpen) process.exitCode = 2;
}

const AGENT = '@agent';

/** Refuses sides without pods, and a namespace without pods, which may be mistyped: nothing would ever change. */
function refuseEmpty(scope: Scope, { old, now, namespaces }: Sides, recording: Recording | undefined): void {
  if (recording === undefined && isEmpty(old) && isEmpty(now))
    throw new CommandError(
      'neither side has a pod or a workload, so changes cannot be determined: name what both have with --with PATH',
    );
  if (namespaces === undefined) return;
  refuseUnknownNamespace(scope, [...namespaces, ...(recording?.namespaces.keys() ?? [])], 'on either side');
}

function isToNode({ to }: DiffView['changes'][number]): boolean {
  return to.some(name => name.startsWith('node/'));
}

/** Policies alone open and close nothing. */
function isEmpty({ cluster, inventory }: Compared): boolean {
  return cluster.pods.size + inventory.workloads.size === 0;
}

async function cutsFor(
  old: string,
  sides: Sides,
  recording: Recording | undefined,
  { connections, socket, unknownPods }: DiffOptions,
  known: UnknownPods,
  scope: Scope,
): Promise<Cuts | undefined> {
  if (recording !== undefined) {
    const asked = recordingAbout(scope, recording);
    return cutsOfRecording(asked, sides.old.cluster, sides.now.cluster, unknownPods);
  }
  const named = connections ?? (old === AGENT ? AGENT : undefined);
  return named === undefined ? undefined : readCuts(named, sides, socket, known, scope);
}

async function readCuts(
  connections: string,
  { old, now }: Sides,
  socket: string | undefined,
  unknownPods: UnknownPods,
  scope: Scope,
): Promise<Cuts> {
  const isOpenNow = connections === AGENT;
  const recorded = isOpenNow
    ? await readOpenConnections(socket ?? DEFAULT_SOCKET)
    : await readRecording(connections, old.cluster);
  const asked = connectionsAbout(scope, old.cluster, recorded);
  return cutsOf(asked, isOpenNow, old.cluster, now.cluster, unknownPods);
}

async function write(
  format: DiffOptions['output'],
  view: DiffView,
  cuts: Cuts | undefined,
  notes: readonly string[],
): Promise<void> {
  if (isData(format)) await writeData(format, [diffObject(view, cuts, notes)]);
  else if (format === 'md')
    writeDocument([...noteMarkdown(notes), ...diffMarkdown(view), ...cutMarkdown(cuts)]);
  else
    writeLines([...diffLines(view, terminalWidth(), format === 'wide'), ...cutLines(cuts, terminalWidth())]);
}

function emptyNotes(old: Compared, now: Compared, scope: Scope): readonly string[] {
  const { namespace, selector } = scope;
  if ((namespace ?? selector) === undefined || isAnybodyIn(scope, old) || isAnybodyIn(scope, now)) return [];
  const which = selector === undefined ? '' : ' with these labels';
  const where = namespace === undefined ? '' : ` in namespace ${namespace}`;
  return [`there is no pod and no workload${which}${where} on either side`];
}

/** The connections that a change would cut, for people: on a terminal and in a pull request. */
export function cutLines(cuts: Cuts | undefined, width: number): string[] {
  if (cuts === undefined) return [];
  const each = cuts.cuts.flatMap(cut => [`  ${cutText(cut)}`, ...wrap(`    ${cut.reason}`, width, 6)]);
  return ['', heading(cuts), ...each, ...deniedBeforeText(cuts).flatMap(text => wrap(text, width, 0))];
}

export function cutMarkdown(cuts: Cuts | undefined): string[] {
  if (cuts === undefined) return [];
  const each = cuts.cuts.map(cut => `- ${escaped(cutText(cut))}: ${escaped(cut.reason)}`);
  const title = heading(cuts);
  const left = deniedBeforeText(cuts).flatMap(text => ['', text]);
  return ['', `${title[0]!.toUpperCase()}${title.slice(1)}`, '', ...each, ...left];
}

function heading({ isOpenNow, cuts, judged }: Cuts): string {
  const what = isOpenNow ? 'connection that is open now' : 'recorded connection';
  if (cuts.length === 0) return `no ${what} would be cut (judged ${plural(judged, 'connection')})`;
  const count = cuts.reduce((sum, { count }) => sum + count, 0);
  const ones = isOpenNow ? 'that are open now' : 'recorded';
  const named = isOpenNow
    ? `${plural(count, 'connection')} ${ones}`
    : `${plural(count, `${ones} connection`)}`;
  return `${named} would be cut:`;
}

/** `guest/visitor -> shop/web  10.0.0.1 -> 10.0.0.2:80/TCP  2 connections`. */
function cutText({ from, to, flow, count }: Cut): string {
  const names = flow.startsWith(`${from} -> ${to}:`) ? '' : `${from} -> ${to}  `;
  return `${names}${flow}${count === 1 ? '' : `  (${plural(count, 'connection')})`}`;
}

function deniedBeforeText({ deniedBefore, isOpenNow }: Cuts): string[] {
  if (deniedBefore === 0) return [];
  const why = isOpenNow ? ': opened by a domain name, or by packets that no policy judged' : '';
  return [`${plural(deniedBefore, 'connection')} left out, which the old policies deny${why}`];
}

/** Many changes are a screen: what each workload loses and gains, and the first changes. `isWide` lists all, with who decides. */
export function diffLines(view: DiffView, width: number, isWide = false): string[] {
  const { changes } = view;
  if (changes.length === 0) return [summary(view), ...workloadLines(view, width)];
  const summed = byWorkloadLines(view, width, isWide);
  const isShort = summed.length > 0 && !isWide;
  const shown = isShort ? changes.slice(0, MOST_CHANGES) : changes;
  const more = changes.length - shown.length;
  const rest = more > 0 ? [`  and ${plural(more, 'more change')}`] : [];
  return [
    ...summed,
    ...shown.flatMap(change => changeLines(view, change, width, isShort)),
    ...(isShort ? [...rest, pc.dim('-o wide lists every change, and which policies decide it')] : []),
    ...workloadLines(view, width),
    '',
    ...internetText(view).flatMap(text => wrap(text, width, 2)),
    summary(view),
  ];
}

/** With those by workload they fit a screen. */
const MOST_CHANGES = 10;
const MOST_WORKLOADS = 10;

function changeLines(view: DiffView, change: ChangeView, width: number, isShort: boolean): string[] {
  const colour = change.kind === 'opens' ? pc.green : pc.red;
  const sign = change.undecided ? '?' : change.kind === 'opens' ? '+' : '-';
  const most = isShort ? 3 : undefined;
  const ends = `${endsText(change.from, most)} -> ${endsText(change.to, most)}: ${whatText(view, change)}`;
  const head = wrap(`${sign} ${kindText(change).padEnd(6)} ${ends}`, width, 9).map(colour);
  if (isShort) return head;
  return [
    ...head,
    ...wrap(`    ${beforeText(change)}`, width, 6),
    ...wrap(`    ${afterText(change)}`, width, 6),
  ];
}

/** What each workload loses and gains, above a long list. */
function byWorkloadLines(view: DiffView, width: number, isWide: boolean): string[] {
  const { shown, more } = changesByWorkload(view, isWide ? undefined : MOST_WORKLOADS);
  if (shown.length === 0) return [];
  const column = Math.min(40, Math.max(...shown.map(({ workload }) => workload.length)));
  return [
    `${plural(view.changes.length, 'change')}, by workload:`,
    ...shown.flatMap(({ workload, text }) => wrap(`  ${workload.padEnd(column)}  ${text}`, width, 6)),
    ...(more > 0 ? [`  and ${plural(more, 'more workload')}`] : []),
    '',
  ];
}

function workloadLines({ added, removed }: DiffView, width: number): string[] {
  const line = (what: string, names: readonly string[]) =>
    names.length === 0 ? [] : wrap(`${what}: ${listed(names.map(memberName), 8)}`, width, 2);
  return [...line('new workloads', added), ...line('workloads that are gone', removed)];
}
