/** `sluice matrix`: who reaches whom on which ports, by workload. */
import { assertNever } from '../../model/assert.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import { type EndView, type MatrixView, viewOf } from '../../reach/view.ts';
import type { SourceOptions } from '../../sources/options.ts';
import { readState } from '../../sources/readstate.ts';
import { isInScope } from '../../sources/scope.ts';
import type { State } from '../../sources/state.ts';
import { isData, writeData } from '../../terminal/data.ts';
import { writeDocument, writeLines } from '../../terminal/output.ts';
import { withProgress } from '../../terminal/progress.ts';
import { terminalWidth } from '../../terminal/wrap.ts';
import { HIDDEN, lacksOf, noteState } from '../notestate.ts';
import { csvLines } from './csv.ts';
import { dotLines } from './dot.ts';
import { htmlLines } from './html.ts';
import { markdownLines } from './markdown.ts';
import { matrixObject } from './object.ts';
import { exposuresFor, type Row, rowsOf } from './rows.ts';
import { matrixLines } from './text.ts';

export type MatrixOptions = SourceOptions & {
  readonly output: 'text' | 'json' | 'yaml' | 'csv' | 'md' | 'dot' | 'html';
  readonly unknownPods?: UnknownPods;
};

/** Exit code 2 where there may be policies that nobody could look at. */
export async function matrixCommand(options: MatrixOptions): Promise<void> {
  const state = await readState(options, { workloads: true });
  noteState(state);
  const unknownPods = options.unknownPods ?? state.unknownPods ?? 'allow';
  const whole = withProgress('judging all connections', state.cluster, () => viewOf(state, unknownPods));
  const isAsked = ({ pods }: EndView) => pods.some(pod => isInScope(state.scope, pod));
  const view = { ...whole, exposures: exposuresFor(whole, isAsked) };
  await write(options.output, view, rowsOf(view, isAsked), state);
  if (state.hidesPolicies) process.exitCode = 2;
}

/** What the matrix lacks: also for whoever reads it later, without what was said beside it. */
function notesOf(state: State): readonly string[] {
  return state.hidesPolicies ? [HIDDEN, ...lacksOf(state)] : lacksOf(state);
}

async function write(
  format: MatrixOptions['output'],
  view: MatrixView,
  rows: readonly Row[],
  state: State,
): Promise<void> {
  if (isData(format)) await writeData(format, [matrixObject(view, rows, notesOf(state))]);
  else if (format === 'text') writeLines(matrixLines(view, rows, terminalWidth()));
  else writeDocument(linesOf(format, view, rows, state));
}

function linesOf(
  format: Exclude<MatrixOptions['output'], 'text' | 'json' | 'yaml'>,
  view: MatrixView,
  rows: readonly Row[],
  state: State,
): Iterable<string> {
  switch (format) {
    case 'csv':
      return csvLines(view, rows);
    case 'md':
      return markdownLines(view, rows, notesOf(state));
    case 'dot':
      return dotLines(view, rows);
    case 'html':
      return htmlLines(view, rows, state.source, notesOf(state));
    default:
      return assertNever(format);
  }
}
