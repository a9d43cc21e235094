/** In the pod of an agent, asked by a prompt elsewhere: ends with it, and says that it is still there. */

import type { Socket } from 'node:net';
import { writeUnwrapped } from '../../terminal/output.ts';

/** A line without anything is no object, and nobody's. */
const BEAT = '\n';
export const BEAT_MS = 2_000;

/** Ends the process when its standard input does: nothing else tells that whoever asked is gone, where nothing comes. */
export function beOverheard(): void {
  const end = () => process.exit(0);
  process.stdin.on('end', end).on('close', end).on('error', end).resume();
  // What it waits for is the command's work, and not this.
  (process.stdin as Partial<Pick<Socket, 'unref'>>).unref?.();
  const beat = () => writeUnwrapped(BEAT);
  beat();
  setInterval(beat, BEAT_MS).unref();
}
