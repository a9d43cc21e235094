import { writeFileSync } from 'node:fs';

/**
 * What `ps` and nft call this process: nft names the owner of a table by it (`# progname sluice`), and Node.js would
 * have it say `MainThread`. The command line stays as it is. Without /proc it keeps its name.
 */
export function nameProcess(name: string): void {
  try {
    writeFileSync('/proc/self/comm', name); // of the main thread, whichever thread writes
  } catch {
    // A name is for people only.
  }
}
