import { stat } from 'node:fs/promises';
import { type LoadedCluster, loadManifests } from '../files/load.ts';
import { CommandError } from '../terminal/commanderror.ts';

/** Folders, files, and `-` for standard input, as one cluster. Throws CommandError where one cannot be read. */
export async function readFiles(paths: readonly string[]): Promise<LoadedCluster> {
  for (const path of paths) await requireReadable(path);
  return loadManifests(paths);
}

export async function requireReadable(path: string): Promise<void> {
  if (path === '-') return;
  await stat(path).catch(error => {
    throw new CommandError(`cannot read ${path}: ${(error as Error).message}`);
  });
}
