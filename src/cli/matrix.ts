/** `sluice matrix`: who reaches whom on which ports, by workload. */

import Table from 'cli-table3';
import { type Entryway, entrywaysOfMatrix } from '../answers/entrances/entryways.ts';
import { doubtNotes, entrywaysInDoubt } from '../answers/entrances/waytext.ts';
import { cellText } from '../answers/reach/connectionstext.ts';
import { csvLines, dotLines, htmlLines, markdownLines } from '../answers/reach/documents.ts';
import { guessNotes, hostNetworkNotes, unreadNotes } from '../answers/reach/leftout.ts';
import {
  endText,
  exposuresFor,
  exposureTexts,
  exposureTitle,
  isJudged,
  isolationText,
  legendOf,
  listed,
  matrixObject,
  type Row,
  rowsOf,
} from '../answers/reach/rows.ts';
import { type EndView, type MatrixView, matrixViewOf } from '../answers/reach/view.ts';
import { assertNever } from '../lib/text/assert.ts';
import { firstOf } from '../lib/text/firstof.ts';
import type { UnknownPods } from '../model/podcidrs.ts';
import { memberName } from '../model/workload.ts';
import pc from '../terminal/colours.ts';
import { CommandError } from '../terminal/commanderror.ts';
import { isData, writeData } from '../terminal/data.ts';
import { terminalWidth, writeDocument, writeLines, writeNote } from '../terminal/output.ts';
import { withProgress } from '../terminal/progress.ts';
import { beside, visibleWidth, wrap } from '../terminal/wrap.ts';
import { entrywayLines } from './entrywaytext.ts';
import { orCommandError } from './orcommanderror.ts';
import { HIDDEN, noteStates, notesBeyond, readState, writeNotes } from './sources/readstate.ts';
import {
  clusterViewOf,
  guessesWith,
  inventoryWith,
  isInScope,
  isScopeSure,
  judgedUnknownPods,
  namespacesOf,
  refuseUnknownNamespace,
  type SourceOptions,
  type State,
  sureNamespaces,
} from './sources/state.ts';

export type MatrixOptions = SourceOptions & {
  readonly output: 'text' | 'json' | 'yaml' | 'csv' | 'md' | 'dot' | 'html' | 'page';
  readonly unknownPods?: UnknownPods;
  readonly apiServer?: readonly string[];
  readonly ingressController?: readonly string[];
};

/** Exit code 2 if something depends on policies that could not be read. */
export async function matrixCommand(options: MatrixOptions): Promise<void> {
  const { output } = options;
  if (output === 'page') {
    await (await import('./page.ts')).writePage(options.manifests);
    return;
  }
  const read = await readState(options, { workloads: true, services: true, entrances: true, flags: true });
  const state = { ...read, inventory: inventoryWith(read.inventory, options.apiServer) };
  noteStates(state);
  if (!state.mayNotList?.('namespaces'))
    refuseUnknownNamespace(state.scope, namespacesOf(state), `in ${state.source}`);
  refuseEmpty(state);
  const said = options.unknownPods ?? state.unknownPods;
  const unknownPods = judgedUnknownPods(said, state.guesses);
  const sureOf = sureNamespaces(state);
  const whole = withProgress('judging all connections', state.cluster, () =>
    matrixViewOf(state, unknownPods, sureOf),
  );
  const isAsked = ({ pods }: Pick<EndView, 'pods'>) => pods.some(pod => isInScope(state.scope, pod));
  const entryways = orCommandError(() => {
    const found = entrywaysOfMatrix(clusterViewOf(state, { unknownPods }), options.ingressController);
    const all = state.hidesPolicies ? entrywaysInDoubt(found, HIDDEN) : found;
    return { ways: all.ways.filter(isAsked), doubts: all.doubts.filter(isAsked) };
  });
  const exposures = exposuresFor(whole, isAsked);
  const view = { ...whole, entryways, exposures, hidesPods: state.mayNotList?.('pods') ?? false };
  const onNodes = hostNetworkNotes(state, item => isInScope(state.scope, item));
  const isEmpty = onNodes.length === 0 && !view.ends.some(isAsked);
  if (isEmpty) writeNote(`${pc.yellow('note')}: ${emptyText(state)}`);
  const rows = rowsOf(view, isAsked);
  const leftOut = [
    ...doubtNotes(entryways),
    ...onNodes,
    ...unreadNotes([state], state.scope.namespace),
    ...guessNotes([state.cluster], guessesWith(state, options.unknownPods), rows.some(isToNode)),
    ...view.notes,
  ];
  if (!state.hidesPolicies) leftOut.push(...aloneNotes(view, rows, isAsked));
  writeNotes(leftOut);
  // A legend says what the absence of a line means, which nobody knows beyond what could be read.
  const isSure = isScopeSure(state.scope, sureOf);
  const hasLegend = !isEmpty && isSure;
  if (output === 'text') writeLines(matrixLines(view, rows, terminalWidth(), hasLegend));
  else await write(output, view, rows, [...notesBeyond(state), ...leftOut], state.source);
  if (!isSure || (state.hidesPolicies && (isEmpty || isAnyUndecided(view, rows)))) process.exitCode = 2;
}

function isAnyUndecided({ exposures, entryways }: MatrixView, rows: readonly Row[]): boolean {
  const isOpen = ({ cell }: Pick<Row, 'cell'>) => cell.undecided !== undefined;
  return rows.some(isOpen) || exposures.some(isOpen) || entryways.ways.some(isUndecided);
}

function isToNode({ to }: Row): boolean {
  return to.kind === 'node';
}

function isUndecided({ verdict }: Entryway): boolean {
  return verdict === 'undecided';
}

/** Workloads that no line names look forgotten. */
export function aloneNotes(
  { ends }: MatrixView,
  rows: readonly Row[],
  isAsked: (end: EndView) => boolean,
): string[] {
  const named = new Set(rows.flatMap(({ from, to }) => [from, to]));
  const alone = ends.filter(end => end.kind === 'workload' && isAsked(end) && !named.has(end));
  const names = alone.flatMap(({ members }) => members.map(memberName));
  return names.length === 0 ? [] : [`nobody reaches these, and they reach nobody: ${firstOf(names, 8)}`];
}

/** Refuses a source without pods and workloads: it may be the wrong folder. */
function refuseEmpty({ cluster, inventory, source, scope: { namespace }, mayNotList }: State): void {
  if (namespace !== undefined || cluster.pods.size + inventory.workloads.size > 0) return;
  if (mayNotList?.('pods')) throw new CommandError(`you may not list pods in ${source}: there is no matrix`);
  throw new CommandError(`there is no pod and no workload in ${source}, so there is no matrix`);
}

function emptyText({ source, scope: { namespace, selector }, mayNotList }: State): string {
  if (mayNotList?.('pods', namespace))
    return `no pod${namespace === undefined ? '' : ` in namespace ${namespace}`} can be read in ${source}: there is no matrix`;
  const which = selector === undefined ? '' : ' with these labels';
  const where = namespace === undefined ? '' : ` in namespace ${namespace}`;
  return `there is no pod and no workload${which}${where} in ${source}: there are no connections`;
}

async function write(
  format: Exclude<MatrixOptions['output'], 'text' | 'page'>,
  view: MatrixView,
  rows: readonly Row[],
  notes: readonly string[],
  source: string,
): Promise<void> {
  if (isData(format)) await writeData(format, [matrixObject(view, rows, notes)]);
  else writeDocument(linesOf(format, view, rows, notes, source));
}

function linesOf(
  format: Exclude<MatrixOptions['output'], 'text' | 'json' | 'yaml' | 'page'>,
  view: MatrixView,
  rows: readonly Row[],
  notes: readonly string[],
  source: string,
): Iterable<string> {
  switch (format) {
    case 'csv':
      return csvLines(view, rows);
    case 'md':
      return markdownLines(view, rows, notes);
    case 'dot':
      return dotLines(view, rows);
    case 'html':
      return htmlLines(view, rows, source, notes);
    default:
      return assertNever(format);
  }
}

// A matrix at a terminal: as a grid where it fits the width, else a block of lines for each end that reaches others.

/** A grid of more rows is compared cell by cell in vain. */
const MOST_GRID_ROWS = 400;

export function matrixLines(
  view: MatrixView,
  rows: readonly Row[],
  width: number,
  hasLegend = true,
): string[] {
  const isGrid = rows.length > 0 && rows.length <= MOST_GRID_ROWS;
  const grid = isGrid ? gridLines(view, rows, width) : undefined;
  const parts = [
    grid ?? blockLines(view, rows, width),
    entrywayLines(view.entryways).flatMap(([head, text]) => wrap(head + text, width, visibleWidth(head))),
    exposureLines(view, width),
    hasLegend ? wrap(legendOf(view), width).map(pc.dim) : [],
  ];
  return parts.filter(lines => lines.length > 0).flatMap((lines, i) => (i === 0 ? lines : ['', ...lines]));
}

function blockLines(view: MatrixView, rows: readonly Row[], width: number): string[] {
  const column = Math.min(
    36,
    Math.floor(width / 2) - 2,
    Math.max(0, ...rows.map(({ to }) => endText(to).length + 5)),
  );
  return view.ends
    .flatMap(from => {
      const own = rows.filter(row => row.from === from);
      if (own.length === 0) return [];
      return [
        '',
        ...wrap(headText(view, from), width, 4).map(pc.bold),
        ...own.flatMap(row => rowLines(view, row, column, width)),
      ];
    })
    .slice(1);
}

function headText(view: MatrixView, end: EndView): string {
  const isolated = isolationText(view, end);
  return `${endText(end, 6)}${isolated === '' ? '' : ` (isolated: ${isolated})`}`;
}

function rowLines(view: MatrixView, { to, cell }: Row, column: number, width: number): string[] {
  return beside(`  -> ${endText(to)}`, cellText(view.pool, cell), column, width);
}

function exposureLines(view: MatrixView, width: number): string[] {
  if (view.exposures.length === 0) return [];
  const lines = exposureTexts(view).flatMap(({ direction, members, whom, connections }) => {
    const arrow = direction === 'ingress' ? '<-' : '->';
    const ends = `${listed(members.map(memberName), 4)} ${arrow} ${listed(whom, 8)}`;
    return wrap(`  ${ends}: ${connections}`, width, 6);
  });
  return [pc.bold(exposureTitle(view)), ...lines];
}

// A matrix as a grid, for as long as it fits the terminal.

/** Undefined where it does not fit. */
function gridLines(view: MatrixView, rows: readonly Row[], width: number): string[] | undefined {
  const shown = view.ends.filter(end => rows.some(({ from, to }) => from === end || to === end));
  const numbers = new Map(shown.map((end, i) => [end, i + 1]));
  const destinations = shown.filter(end => rows.some(({ to }) => to === end));
  const lines = shown.map(from => {
    const name = `${numbers.get(from)} ${endText(from, 2)}`;
    return [name, isolationText(view, from), ...destinations.map(to => gridCell(view, rows, from, to))];
  });
  const head = ['from \\ to', 'isolated', ...destinations.map(to => String(numbers.get(to)))];
  const text = new Table({ head, ...PLAIN });
  text.push(...lines);
  const found = text
    .toString()
    .split('\n')
    .map(line => line.trimEnd());
  return found.every(line => line.length <= width) ? found : undefined;
}

function gridCell(view: MatrixView, rows: readonly Row[], from: EndView, to: EndView): string {
  if (!isJudged(from, to)) return '';
  const row = rows.find(each => each.from === from && each.to === to);
  return row === undefined ? '-' : cellText(view.pool, row.cell).replaceAll(/; | \| /g, '\n');
}

const PLAIN = {
  chars: {
    top: '',
    'top-mid': '',
    'top-left': '',
    'top-right': '',
    bottom: '',
    'bottom-mid': '',
    'bottom-left': '',
    'bottom-right': '',
    left: '',
    'left-mid': '',
    mid: '',
    'mid-mid': '',
    right: '',
    'right-mid': '',
    middle: '  ',
  },
  style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
};
