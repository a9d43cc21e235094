/**
 * Ways past policy that the fuzzer has found and that are not closed yet, by what their sequences have in common. An entry
 * goes with its mend: test/kernel/hostile/fuzz.test.ts fails where one that is open is not found, and where one is found
 * that is not here.
 */

import type { Wiring } from './network.ts';
import type { Sequence } from './packet.ts';

export interface Known {
  readonly name: string;
  /** Where it is open. */
  readonly on: readonly Wiring[];
  matches(sequence: Sequence, wiring: Wiring): boolean;
}

const KNOWN: readonly Known[] = [];

export function knownOn(wiring: Wiring): readonly Known[] {
  return KNOWN.filter(({ on }) => on.includes(wiring));
}
