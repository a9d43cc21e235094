/** `sluice record FILE`: the connections of this node's pods, for a while. */
import { closeSync, fsyncSync, openSync, renameSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import type { Recording } from '../../recording/recording.ts';
import { connectionsOf } from '../../recording/recording.ts';
import { recordingLines } from '../../recording/write.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { writeDocument, writeNote } from '../../terminal/output.ts';
import { plural } from '../../terminal/plural.ts';
import { collectFromAgent } from './collect.ts';
import { recordingLacks } from './read.ts';
import { windowText } from './text.ts';

export interface RecordOptions {
  readonly socket: string;
  /** In seconds. */
  readonly for: number;
}

/** The file is whole at any time: what there was is written once a minute, and at the end, which SIGINT brings too. */
export async function recordCommand(file: string, options: RecordOptions): Promise<void> {
  const end = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => end.abort());
  if (file !== '-') checkWritable(file);
  const recording = await collectFromAgent(options.socket, {
    seconds: options.for,
    signal: end.signal,
    ...(file !== '-' && { onProgress: soFar => writeRecording(file, soFar) }),
  });
  if (file === '-') writeDocument(recordingLines(recording));
  else writeRecording(file, recording);
  for (const line of summary(recording)) writeNote(line);
}

function summary(recording: Recording): string[] {
  const { flows } = recording;
  const count = plural(connectionsOf(recording), 'connection');
  return [
    `recorded ${count} ${windowText(recording)}, as ${plural(flows.length, 'flow')}`,
    ...recordingLacks(recording),
  ];
}

/** A day's recording that cannot be written at its end is lost. Throws CommandError. */
function checkWritable(file: string): void {
  const part = partOf(file);
  try {
    if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) throw new Error('it is a folder');
    closeSync(openSync(part, 'wx', 0o600));
    unlinkSync(part);
  } catch (error) {
    throw cannotWrite(file, error as Error);
  }
}

function partOf(file: string): string {
  return `${file}.${process.pid}.part`;
}

function cannotWrite(file: string, { message }: Error): CommandError {
  return new CommandError(`cannot write ${file}: ${message}`);
}

/** Whoever reads the file meanwhile reads a whole one, and so does whoever comes after a crash. */
function writeRecording(file: string, recording: Recording): void {
  const part = partOf(file);
  try {
    const descriptor = openSync(part, 'wx', 0o600);
    try {
      for (const line of recordingLines(recording)) writeFileSync(descriptor, `${line}\n`);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(part, file);
  } catch (error) {
    throw cannotWrite(file, error as Error);
  }
}
