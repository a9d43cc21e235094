/** Recordings and their connections for programs. */
import type { Recording } from '../../recording/recording.ts';

export function recordingObject({ fromMs, toMs, recordedOn, lost, leftOut, isCut }: Recording): object {
  const left = [...leftOut].map(([namespace, connections]) => ({ namespace, connections }));
  return { fromMs, toMs, recordedOn, lost, leftOut: left, isCut: isCut ?? false };
}
