/** Prepares the process before all else: memory, its name, and the log. */
import { writeFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { keepMemorySmall } from '../kernel/host/memory.ts';
import { makeLog } from './log.ts';
import type { LogOptions } from './options.ts';

export function prepareProcess(options: LogOptions): Promise<Logger> {
  keepMemorySmall();
  nameProcess('sluice');
  return makeLog(options);
}

/**
 * The name that `ps` and nft show for this process: nft names the owner of a table by it (`# progname sluice`), and
 * Node.js would leave it at `MainThread`. The command line stays as it is. Without /proc the name stays, too.
 */
function nameProcess(name: string): void {
  try {
    writeFileSync('/proc/self/comm', name); // /proc/self is the main thread, whichever thread writes
  } catch {
    // The name is for people only.
  }
}
