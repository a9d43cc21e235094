/** `sluice replay RECORDING…`: which recorded connections these policies allow and deny, and by which of them. */

import { versioned } from '../../answers/schema.ts';
import { plural } from '../../lib/text/plural.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import { endNamer } from '../../observe/recording/endname.ts';
import { connectionsIn, type FlowGroup, flowGroups } from '../../observe/recording/groups.ts';
import { recordingJudge } from '../../observe/recording/judge.ts';
import type { Recording } from '../../observe/recording/recording.ts';
import pc from '../../terminal/colours.ts';
import { isData, writeData } from '../../terminal/data.ts';
import { type OutputOptions, writeLines } from '../../terminal/output.ts';
import { noteStates, notesOf, readState } from '../sources/readstate.ts';
import type { SourceOptions } from '../sources/state.ts';
import { lacksNothing, readRecordings, recordedAbout } from './read.ts';
import { groupLines, recordingObject, windowText } from './text.ts';

export type ReplayOptions = OutputOptions & SourceOptions & { readonly unknownPods?: UnknownPods };

/** Exit code 0: all are allowed; 1: some are denied; 2: error or undecided, also if a part of the recording is missing. */
export async function replayCommand(paths: readonly string[], options: ReplayOptions): Promise<void> {
  const state = await readState(options);
  noteStates(state);
  const recording = recordedAbout(state.scope, await readRecordings(paths));
  const judge = recordingJudge(recording, state.cluster, options.unknownPods);
  const judged = recording.flows.map(flow => ({ flow, verdict: judge(flow) }));
  const groups = flowGroups(judged, endNamer(recording));
  if (isData(options.output))
    await writeData(options.output, [replayObject(recording, groups, notesOf(state))]);
  else writeLines(replayLines(recording, groups, options.output === 'wide'));
  const isDenied = groups.some(({ verdict }) => verdict === 'deny');
  process.exitCode = state.hidesPolicies ? 2 : isDenied ? 1 : lacksNothing(recording) ? 0 : 2;
}

function replayObject(
  recording: Recording,
  connections: readonly FlowGroup[],
  notes: readonly string[],
): object {
  return versioned('Replay', { recording: recordingObject(recording), connections, notes });
}

function replayLines(recording: Recording, groups: readonly FlowGroup[], isWide: boolean): string[] {
  const part = (was: string, verdict: string) =>
    groups.filter(group => group.was === was && group.verdict === verdict);
  const cutNow = part('allow', 'deny');
  const cut = cutNow.filter(group => !group.unseen);
  const unseen = cutNow.filter(group => group.unseen);
  const opened = part('deny', 'allow');
  const denied = part('deny', 'deny');
  const allowed = part('allow', 'allow');
  return [
    ...section(pc.red('denied, and was allowed:'), cut, isWide),
    ...section(pc.yellow(UNSEEN), unseen, isWide),
    ...section(pc.green('allowed, and was denied:'), opened, isWide),
    ...section('denied, as it was:', denied, isWide),
    ...section('allowed, as it was:', isWide ? allowed : [], isWide),
    `${plural(connectionsIn(groups), 'connection')} recorded ${windowText(recording)}: ${connectionsIn([...allowed, ...opened])} allowed, ${connectionsIn([...cutNow, ...denied])} denied`,
  ];
}

const UNSEEN = 'denied, and whether it was is not known (the node of the end that denies was not recorded):';

function section(title: string, groups: readonly FlowGroup[], isWide: boolean): string[] {
  return groups.length === 0 ? [] : [title, ...groupLines(groups, '  ', isWide), ''];
}
