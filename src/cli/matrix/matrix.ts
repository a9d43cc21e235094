/** `sluice matrix`: who reaches whom on which ports, by workload. */
import { assertNever } from '../../model/assert.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import { type EndView, type MatrixView, viewOf } from '../../reach/view.ts';
import type { SourceOptions } from '../../sources/options.ts';
import { readState } from '../../sources/readstate.ts';
import { isInScope } from '../../sources/scope.ts';
import type { State } from '../../sources/state.ts';
import { writeJson, writeLines } from '../../terminal/output.ts';
import { terminalWidth } from '../../terminal/wrap.ts';
import { noteState } from '../notestate.ts';
import { csvLines } from './csv.ts';
import { dotLines } from './dot.ts';
import { htmlLines } from './html.ts';
import { markdownLines } from './markdown.ts';
import { matrixObject } from './object.ts';
import { exposuresFor, type Row, rowsOf } from './rows.ts';
import { matrixLines } from './text.ts';

export type MatrixOptions = SourceOptions & {
  readonly output: 'text' | 'json' | 'csv' | 'md' | 'dot' | 'html';
  readonly unknownPods?: UnknownPods;
};

export async function matrixCommand(options: MatrixOptions): Promise<void> {
  const state = await readState(options, { workloads: true });
  noteState(state);
  const whole = viewOf(state, options.unknownPods ?? state.unknownPods ?? 'allow');
  const isAsked = ({ pods }: EndView) => pods.some(pod => isInScope(state.scope, pod));
  const view = { ...whole, exposures: exposuresFor(whole, isAsked) };
  write(options.output, view, rowsOf(view, isAsked), state);
}

function write(format: MatrixOptions['output'], view: MatrixView, rows: readonly Row[], state: State): void {
  if (format === 'json') writeJson(matrixObject(view, rows));
  else writeLines(linesOf(format, view, rows, state));
}

function linesOf(
  format: Exclude<MatrixOptions['output'], 'json'>,
  view: MatrixView,
  rows: readonly Row[],
  { source }: State,
): Iterable<string> {
  switch (format) {
    case 'text':
      return matrixLines(view, rows, terminalWidth());
    case 'csv':
      return csvLines(view, rows);
    case 'md':
      return markdownLines(view, rows);
    case 'dot':
      return dotLines(view, rows);
    case 'html':
      return htmlLines(view, rows, source);
    default:
      return assertNever(format);
  }
}
