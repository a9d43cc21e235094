/** In the pod of an agent, asked by a prompt elsewhere: ends with it, and says that it is still there. */

import type { Socket } from 'node:net';
import { writeUnwrapped } from '../../terminal/output.ts';

/** A line without anything is no object, and nobody's. */
const HEARTBEAT = '\n';
export const HEARTBEAT_MS = 2_000;
/** What a prompt writes that would have a command end, and tell what it has left. */
export const STOP = '\n';

/**
 * Ends the process when its standard input does: nothing else tells that whoever asked is gone, where nothing comes.
 * `onFinish`: it was told to end by itself.
 */
export function serveRemote(onFinish: () => void = () => undefined): void {
  const end = () => process.exit(0);
  process.stdin.on('data', onFinish).on('end', end).on('close', end).on('error', end).resume();
  // What it waits for is the command's work, and not this.
  (process.stdin as Partial<Pick<Socket, 'unref'>>).unref?.();
  setInterval(heartbeat, HEARTBEAT_MS).unref();
}

/** The first says that all has been told that was known before: others wait for it. */
export function heartbeat(): void {
  writeUnwrapped(HEARTBEAT);
}
