/** The file of a recording, whole at any time. */
import { closeSync, fsyncSync, openSync, renameSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import type { Recording } from '../../observe/recording/recording.ts';
import { recordingLines } from '../../observe/recording/write.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { writeUnwrapped } from '../../terminal/output.ts';
import { printableJsonText } from '../../terminal/printable.ts';

/** A day's recording that cannot be written at its end is lost, and so is one that another replaces. Throws CommandError. */
export function checkWritable(file: string, mayReplace: boolean): void {
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

/** Whoever reads the file meanwhile reads a whole one, and so does whoever comes after a crash. */
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

/** That a terminal may show. */
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
