/** `sluice record FILE`: the connections of this node's pods for a while, or those of all nodes. */
import { MergedRecording } from '../../observe/recording/merge.ts';
import { connectionsOf, type Recording } from '../../observe/recording/recording.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { writeNote } from '../../terminal/output.ts';
import { plural } from '../../terminal/plural.ts';
import { noteWait } from '../../terminal/progress.ts';
import { socketOf, type WhereOptions } from '../everynode/command.ts';
import { beat, beOverheard } from '../everynode/overheard.ts';
import { collectFromAgent } from './collect.ts';
import { recordingLacks } from './read.ts';
import { checkWritable, writeRecording } from './recordingfile.ts';
import { windowText } from './text.ts';

export interface RecordOptions extends WhereOptions {
  /** In seconds. */
  readonly for: number;
  /** A file that is there is replaced. */
  readonly force?: boolean;
}

const WRITE_MS = 60_000;

/** What there was is written once a minute, and at the end, which SIGINT brings too. */
export async function recordCommand(file: string, options: RecordOptions): Promise<void> {
  const socket = await socketOf(options);
  if (options.remote) return recordForPrompt(socket!);
  checkWritable(file, options.force === true);
  noteWait(`recording for ${options.for} s: Ctrl-C ends it before, and keeps what there was`);
  const merged = new MergedRecording();
  const isWhole = await whileWriting(file, merged, failed =>
    record(socket, merged, AbortSignal.any([endOf(options.for), failed]), options),
  );
  if (!merged.isBegun) throw new CommandError('no agent reported anything: nothing is recorded');
  const recording = merged.recording();
  writeRecording(file, recording);
  for (const line of summary(recording)) writeNote(line);
  if (!isWhole) process.exitCode = 2;
}

/** The signal of the time, or of the user. */
function endOf(seconds: number): AbortSignal {
  const asked = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => asked.abort());
  return AbortSignal.any([AbortSignal.timeout(seconds * 1_000), asked.signal]);
}

/** Whether all nodes that were asked have told all. */
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

/** In the pod of an agent: each part is a recording of its own. */
async function recordForPrompt(socket: string): Promise<void> {
  const end = new AbortController();
  beOverheard(() => end.abort());
  beat();
  await collectFromAgent(socket, { end: end.signal, take: part => writeRecording('-', part) });
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
  const count = plural(connectionsOf(recording), 'connection');
  return [
    `recorded ${count} ${windowText(recording)}, as ${plural(flows.length, 'flow')}`,
    ...recordingLacks(recording),
  ];
}
