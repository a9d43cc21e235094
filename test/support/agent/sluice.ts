/** The command line as people have it, run to its end. */
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { bundledCommand } from './bundle.ts';

export const MAIN = await bundledCommand();

export function sluice(...words: readonly string[]): SpawnSyncReturns<string> {
  return spawnSync(process.execPath, [MAIN, ...words], { encoding: 'utf8', maxBuffer: 1 << 28 });
}
