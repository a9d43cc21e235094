/** Recordings of the command line, as one. */

import { createReadStream } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { readFailure } from '../../inputs/folder/folder.ts';
import { plural } from '../../lib/text/plural.ts';
import type { Address } from '../../model/address.ts';
import { addressOwners } from '../../model/addressowners.ts';
import type { Cluster, Pod } from '../../model/cluster.ts';
import type { CountedFlow } from '../../model/countedflows.ts';
import { mergeRecordings } from '../../observe/recording/merge.ts';
import { LONGEST_LINE, RecordingError, RecordingReader } from '../../observe/recording/read.ts';
import type { RecordedEnd, Recording } from '../../observe/recording/recording.ts';
import pc from '../../terminal/colours.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { writeNote } from '../../terminal/output.ts';
import { isInScope, type Scope } from '../sources/state.ts';
import { nodesText } from './text.ts';

/**
 * Reads recordings and prints notes on what they lack. Throws CommandError if a file cannot be read, or is no
 * recording.
 */
export async function readRecordings(paths: readonly string[]): Promise<Recording> {
  const recordings: Recording[] = [];
  for (const path of new Set(paths)) recordings.push(await readRecordingFile(path));
  const recording = mergeRecordings(recordings);
  for (const note of recordingLacks(recording)) writeNote(`${pc.yellow('note')}: ${note}`);
  return recording;
}

async function readRecordingFile(path: string): Promise<Recording> {
  const reader = new RecordingReader();
  try {
    for await (const line of linesOf(path, LONGEST_LINE)) reader.add(line);
    return reader.recording();
  } catch (error) {
    if (!(error instanceof RecordingError)) throw error;
    throw new CommandError(`${path}: ${error.message}; nothing of the recording is judged`);
  }
}

/** Whether the recording is complete for its time. */
export function lacksNothing(recording: Recording): boolean {
  return recordingLacks(recording).length === 0;
}

/** Notes on what the recording lacks. */
export function recordingLacks({ missedOn = [], lost, leftOut, isCut }: Recording): string[] {
  const most = [...leftOut].sort(([, a], [, b]) => b - a);
  const shown = most.slice(0, MOST_NAMED).map(([name, count]) => `${count} of ${name || 'no namespace'}`);
  const more = most.length > MOST_NAMED ? ` and of ${most.length - MOST_NAMED} more namespaces` : '';
  const total = most.reduce((sum, [, count]) => sum + count, 0);
  return [
    ...(isCut ? ['the recording is cut off: what came after that is not known'] : []),
    ...(missedOn.length > 0
      ? [`a part is missing of what ${nodesText(missedOn)} saw: the agent was away for a while`]
      : []),
    ...(lost > 0 ? [`${plural(lost, 'connection')} lost: they came faster than they were read`] : []),
    ...(total > 0
      ? [`${plural(total, 'connection')} left out, for which there was no room: ${shown.join(', ')}${more}`]
      : []),
  ];
}

const MOST_NAMED = 5;

// The lines of a file that may be huge, or one line without an end: no more of it is in memory than a line may have.

/** Each complete line. Throws CommandError if one is longer than allowed. */
async function* linesOf(path: string, longest: number): AsyncGenerator<string> {
  const stream = path === '-' ? process.stdin : createReadStream(path);
  const decoder = new StringDecoder('utf8');
  let rest = '';
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      const parts = (rest + decoder.write(chunk)).split('\n');
      rest = parts.pop()!;
      if (rest.length > longest)
        throw new CommandError(`${path}: a line has more than ${longest} characters`);
      yield* parts;
    }
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`cannot read ${path}: it ${readFailure(error)}`);
  }
}

// Connections that a question is about: those of the pods that -n and -l name.

/** Those with an end that is one of the pods: all of them if -n and -l are not given. */
export function recordingAbout(scope: Scope, recording: Recording): Recording {
  if (isEverything(scope)) return recording;
  const isAsked = ({ pod }: RecordedEnd) => isOneOf(scope, pod);
  return { ...recording, flows: recording.flows.filter(({ from, to }) => isAsked(from) || isAsked(to)) };
}

/** The same for what is to be a recording by itself: pods without a connection are of the question, too. */
export function partAbout(scope: Scope, recording: Recording): Recording {
  const silent = recording.silent.filter(each => isInScope(scope, each));
  return { ...recordingAbout(scope, recording), silent };
}

/** The same. Throws CommandError where nothing is recorded of that namespace: a name that is mistyped has nothing denied. */
export function recordedAbout(scope: Scope, recording: Recording): Recording {
  const about = recordingAbout(scope, recording);
  if (about.flows.length > 0) return about;
  const { selector, ...anyLabels } = scope;
  const { namespace } = anyLabels;
  if (namespace !== undefined && recordingAbout(anyLabels, recording).flows.length === 0)
    throw new CommandError(`nothing is recorded of pods in namespace ${namespace}`);
  if (selector !== undefined) writeNote(`${pc.yellow('note')}: nothing is recorded of pods that -l selects`);
  return about;
}

/** Judges connections given by addresses, with the pods of the cluster. */
export function connectionsAbout(
  scope: Scope,
  cluster: Cluster,
  connections: readonly CountedFlow[],
): readonly CountedFlow[] {
  if (isEverything(scope)) return connections;
  const owners = addressOwners(cluster);
  const isAsked = (address: Address) => isOneOf(scope, owners.get(address));
  return connections.filter(({ flow }) => isAsked(flow.from) || isAsked(flow.to));
}

function isEverything({ namespace, selector }: Scope): boolean {
  return namespace === undefined && selector === undefined;
}

function isOneOf(scope: Scope, pod: Pod | undefined): boolean {
  return pod !== undefined && isInScope(scope, pod);
}
