/** Recordings and their connections for programs. */
import type { Recording } from '../../observe/recording/recording.ts';

export function recordingObject(recording: Recording): object {
  const { fromMs, toMs, recordedOn, missedOn = [], lost, leftOut, isCut } = recording;
  const left = [...leftOut].map(([namespace, connections]) => ({ namespace, connections }));
  return { fromMs, toMs, recordedOn, missedOn, lost, leftOut: left, isCut: isCut ?? false };
}
