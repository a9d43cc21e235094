/** `sluice record FILE`: the connections of this node's pods for a while, or those of all nodes. */

import { closeSync, fsyncSync, openSync, renameSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { plural } from '../../lib/text/plural.ts';
import { MergedRecording } from '../../observe/recording/merge.ts';
import { connectionsOf, openBefore, type Recording } from '../../observe/recording/recording.ts';
import { recordingLines } from '../../observe/recording/write.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { writeNote, writeUnwrapped } from '../../terminal/output.ts';
import { printableJsonText } from '../../terminal/printable.ts';
import { noteWait } from '../../terminal/progress.ts';
import { heartbeat, serveRemote } from '../everynode/agents.ts';
import { socketOf, type WhereOptions } from '../everynode/command.ts';
import { type Scope, scopeOf } from '../sources/state.ts';
import { collectFromAgent } from './collect.ts';
import { partAbout, recordingLacks } from './read.ts';
import { openText, windowText } from './text.ts';

export interface RecordOptions extends WhereOptions {
  /** Only connections with an end in this namespace. */
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  /** How long to record, in seconds. */
  readonly for: number;
  /** Whether an existing file is replaced. */
  readonly force?: boolean;
  /** Only what the agent knows now, for a prompt elsewhere. */
  readonly known?: boolean;
}

const WRITE_MS = 60_000;

/** The file is written once a minute, and at the end, also when SIGINT ends the command. */
export async function recordCommand(file: string, options: RecordOptions): Promise<void> {
  const socket = await socketOf(options);
  if (options.remote) return recordForPrompt(socket!, options.known === true);
  checkWritable(file, options.force === true);
  noteWait(`recording for ${options.for} s: Ctrl-C ends it before, and keeps what there was`);
  const scope = scopeOf(options);
  const merged = new MergedRecording(part => partAbout(scope, part));
  const isWhole = await whileWriting(file, merged, failed =>
    record(socket, merged, AbortSignal.any([endOf(options.for), failed]), options),
  );
  if (!merged.isBegun) throw new CommandError('no agent reported anything: nothing is recorded');
  const recording = merged.recording();
  writeRecording(file, recording);
  for (const line of [...summary(recording), ...emptyNotes(scope, recording)]) writeNote(line);
  if (!isWhole) process.exitCode = 2;
}

/** The signal of the time, or of the user. */
function endOf(seconds: number): AbortSignal {
  const asked = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => asked.abort());
  return AbortSignal.any([AbortSignal.timeout(seconds * 1_000), asked.signal]);
}

/** Whether all nodes that were asked have sent everything. */
async function record(
  socket: string | undefined,
  merged: MergedRecording,
  end: AbortSignal,
  options: RecordOptions,
): Promise<boolean> {
  if (socket === undefined) {
    const { recordCluster } = await import('./cluster.ts');
    return recordCluster(merged, end, options);
  }
  await collectFromAgent(socket, { end, take: part => merged.add(part) });
  return true;
}

/** Records in the pod of an agent: each part is a recording of its own. */
async function recordForPrompt(socket: string, isKnown: boolean): Promise<void> {
  const end = new AbortController();
  serveRemote(() => end.abort());
  heartbeat();
  const take = (part: Recording) => writeRecording('-', part);
  await collectFromAgent(socket, { take, ...(!isKnown && { end: end.signal }) });
}

/** The work ends where the file cannot be written. */
async function whileWriting<T>(
  file: string,
  merged: MergedRecording,
  work: (failed: AbortSignal) => Promise<T>,
): Promise<T> {
  const failed = new AbortController();
  const timer = setInterval(() => {
    try {
      if (file !== '-' && merged.isBegun) writeRecording(file, merged.recording());
    } catch (error) {
      failed.abort(error);
    }
  }, WRITE_MS);
  try {
    return await work(failed.signal);
  } finally {
    clearInterval(timer);
    failed.signal.throwIfAborted();
  }
}

function summary(recording: Recording): string[] {
  const { flows } = recording;
  const open = flows.reduce((count, flow) => count + openBefore(flow), 0);
  const count = plural(connectionsOf(recording), 'connection');
  return [
    `recorded ${count}${openText(open)} ${windowText(recording)}, as ${plural(flows.length, 'flow')}`,
    ...recordingLacks(recording),
  ];
}

function emptyNotes({ namespace }: Scope, { flows }: Recording): string[] {
  if (namespace === undefined || flows.length > 0) return [];
  return [`nothing was recorded of pods in namespace ${namespace}`];
}

// The file of a recording, whole at any time.

/** A day's recording that cannot be written at its end is lost, and so is one that another replaces. Throws CommandError. */
function checkWritable(file: string, mayReplace: boolean): void {
  if (file === '-') return;
  const part = partOf(file);
  try {
    const there = statSync(file, { throwIfNoEntry: false });
    if (there?.isDirectory()) throw new Error('it is a folder');
    if (there !== undefined && !mayReplace) throw new Error('it exists (--force replaces it)');
    closeSync(openSync(part, 'wx', 0o600));
    unlinkSync(part);
  } catch (error) {
    throw cannotWrite(file, error as Error);
  }
}

/** `-` is standard output. Throws CommandError. */
export function writeRecording(file: string, recording: Recording): void {
  if (file === '-') for (const line of linesOf(recording)) writeUnwrapped(line);
  else replaceFile(file, recording);
}

/** Replaces the file by a rename, so that readers always see a whole one, also after a crash. */
function replaceFile(file: string, recording: Recording): void {
  const part = partOf(file);
  try {
    const descriptor = openSync(part, 'wx', 0o600);
    try {
      for (const line of linesOf(recording)) writeFileSync(descriptor, line);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(part, file);
  } catch (error) {
    throw cannotWrite(file, error as Error);
  }
}

/** The lines of a recording, made safe for a terminal. */
function* linesOf(recording: Recording): Generator<string> {
  for (const line of recordingLines(recording)) yield `${printableJsonText(line)}\n`;
}

function partOf(file: string): string {
  return `${file}.${process.pid}.part`;
}

function cannotWrite(file: string, { code, message }: NodeJS.ErrnoException): CommandError {
  const why = code === 'ENOENT' ? 'its folder does not exist' : message;
  return new CommandError(`cannot write ${file}: ${why}`);
}
