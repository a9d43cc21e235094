import { setTimeout as sleep } from 'node:timers/promises';
import type { Timing } from './backoff.ts';

export const realTiming: Timing = {
  now: () => performance.now(),
  sleep: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => {}),
  random: Math.random,
};
