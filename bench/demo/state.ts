/** Which processes a demo has, in a file, so that a later command can find and end them. */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

const STATE = '/run/sluice-demo/state.json';

export interface DemoState {
  /** Absent once it has ended and left everything running. */
  readonly demo?: number;
  readonly agents: readonly number[];
}

/** The state that an earlier or a running demo wrote, if any. */
export function readDemoState(): DemoState | undefined {
  try {
    return JSON.parse(readFileSync(STATE, 'utf8')) as DemoState;
  } catch {
    return undefined;
  }
}

export function writeState(state: DemoState): void {
  writeFileSync(`${STATE}.new`, JSON.stringify(state));
  renameSync(`${STATE}.new`, STATE); // A reader never sees half of it.
}

export function forgetState(): void {
  rmSync(STATE, { force: true });
}
