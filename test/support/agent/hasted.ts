/** A clock on which everything happens sooner: for tests that wait for many rounds of the agent's loop. */

import { sleep } from '../../../src/lib/async/sleep.ts';
import { realTiming, type Timing } from '../../../src/lib/async/timing.ts';

export function hasted(haste: number): Timing {
  return {
    ...realTiming,
    now: () => performance.now() * haste,
    sleep: (ms, signal) => sleep(ms / haste, signal),
  };
}
