/** `sluice matrix`: who reaches whom on which ports, by workload. */

import { type EndView, type MatrixView, matrixViewOf } from '../../answers/reach/view.ts';
import { assertNever } from '../../lib/text/assert.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import pc from '../../terminal/colours.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { isData, writeData } from '../../terminal/data.ts';
import { writeDocument, writeLines, writeNote } from '../../terminal/output.ts';
import { withProgress } from '../../terminal/progress.ts';
import { terminalWidth } from '../../terminal/wrap.ts';
import { noteState, notesOf } from '../notestate.ts';
import type { SourceOptions } from '../sources/options.ts';
import { readState } from '../sources/readstate.ts';
import { isInScope, namespacesOf, refuseUnknownNamespace } from '../sources/scope.ts';
import type { State } from '../sources/state.ts';
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
  if (!state.mayNotList?.('namespaces'))
    refuseUnknownNamespace(state.scope, namespacesOf(state), `in ${state.source}`);
  refuseNobody(state);
  const unknownPods = options.unknownPods ?? state.unknownPods ?? 'allow';
  const whole = withProgress('judging all connections', state.cluster, () =>
    matrixViewOf(state, unknownPods),
  );
  const isAsked = ({ pods }: EndView) => pods.some(pod => isInScope(state.scope, pod));
  const view = { ...whole, exposures: exposuresFor(whole, isAsked) };
  if (!view.ends.some(isAsked)) writeNote(`${pc.yellow('note')}: ${nobodyText(state)}`);
  await write(options.output, view, rowsOf(view, isAsked), state);
  if (state.hidesPolicies) process.exitCode = 2;
}

/** Of nobody there is no answer that anybody asked for: a folder may be the wrong one. */
function refuseNobody({ cluster, inventory, source, scope: { namespace } }: State): void {
  if (namespace === undefined && cluster.pods.size + inventory.workloads.size === 0)
    throw new CommandError(
      `there is no pod and no workload in ${source}, so nobody can say who reaches whom`,
    );
}

function nobodyText({ source, scope: { namespace, selector } }: State): string {
  const which = selector === undefined ? '' : ' with these labels';
  const where = namespace === undefined ? '' : ` in namespace ${namespace}`;
  return `there is no pod and no workload${which}${where} in ${source}: nobody reaches anybody`;
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
