/** `sluice diff OLD NEW`: the connections that open and close, and which policies do it. */

import { type DiffView, diffOf } from '../../answers/reach/diff/diffview.ts';
import type { Compared } from '../../answers/reach/diff/side.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { Recording } from '../../observe/recording/recording.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { isData, writeData } from '../../terminal/data.ts';
import { writeDocument, writeLines } from '../../terminal/output.ts';
import { withProgress } from '../../terminal/progress.ts';
import { terminalWidth } from '../../terminal/wrap.ts';
import { noteMarkdown } from '../matrix/markdown.ts';
import { writeNotes } from '../notestate.ts';
import { connectionsAbout, recordingAbout } from '../recording/about.ts';
import { readRecordings } from '../recording/read.ts';
import { DEFAULT_SOCKET } from '../sources/options.ts';
import { isInScope, refuseUnknownNamespace, scopeOf } from '../sources/scope.ts';
import type { Scope } from '../sources/state.ts';
import { type Cuts, cutsOf, cutsOfRecording } from './cuts.ts';
import { cutLines, cutMarkdown } from './cutstext.ts';
import { idleNotes, nobodyNotes } from './idle.ts';
import { diffMarkdown } from './markdown.ts';
import { diffObject } from './object.ts';
import { readOpenConnections, readRecording } from './recording.ts';
import { readSides, type SideOptions, type Sides } from './sides.ts';
import { diffLines } from './text.ts';

export type DiffOptions = SideOptions & {
  readonly output: 'text' | 'json' | 'yaml' | 'md';
  readonly unknownPods?: UnknownPods;
  /** A file of connections, `-`, or `@agent`; where the old side is the agent's, those that are open now. */
  readonly connections?: string;
  /** What `sluice record` wrote. */
  readonly recorded?: readonly string[];
};

/** Exit code 0 where nothing opens or closes, else 1. */
export async function diffCommand(old: string, now: string, options: DiffOptions): Promise<void> {
  if (options.connections === '-' && [old, now, ...(options.with ?? [])].includes('-'))
    throw new CommandError('standard input (-) can be read only once');
  const scope = scopeOf(options);
  const sides = await readSides(old, now, options);
  const recording = options.recorded && (await readRecordings(options.recorded));
  refuseNobody(scope, sides, recording);
  const unknownPods = options.unknownPods ?? sides.unknownPods ?? 'allow';
  const view = withProgress('comparing all connections', sides.now.cluster, () =>
    diffOf(sides.old, sides.now, unknownPods, pod => isInScope(scope, pod)),
  );
  const cuts = await cutsFor(old, sides, recording, options, unknownPods, scope);
  const idle = [
    ...nobodyNotes(sides.old, sides.now, scope),
    ...idleNotes(sides.old, sides.now, options.namespace),
  ];
  writeNotes(idle);
  await write(options.output, view, cuts, [...sides.notes, ...idle, ...(cuts?.notes ?? [])]);
  if (view.changes.length > 0) process.exitCode = 1;
}

const AGENT = '@agent';

/** Where there is nobody, or nobody in a namespace that may be mistyped, nothing opens or closes whatever policies say. */
function refuseNobody(scope: Scope, { old, now, namespaces }: Sides, recording: Recording | undefined): void {
  if (recording === undefined && isEmpty(old) && isEmpty(now))
    throw new CommandError(
      'neither side has a pod or a workload, so nobody can say what changes: name what both have with --with PATH',
    );
  if (namespaces === undefined) return;
  refuseUnknownNamespace(scope, [...namespaces, ...(recording?.namespaces.keys() ?? [])], 'on either side');
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
  else writeLines([...diffLines(view, terminalWidth()), ...cutLines(cuts, terminalWidth())]);
}
