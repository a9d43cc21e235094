/** Loaded into an agent before all else: at SIGUSR2 its main thread is held for so many milliseconds (`HELD_MS`). */
import { writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

if (isMainThread)
  process.on('SIGUSR2', () => {
    writeSync(1, 'held\n');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(process.env.HELD_MS));
    writeSync(1, 'free again\n');
  });
