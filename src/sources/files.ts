import { stat } from 'node:fs/promises';
import { readFailure } from '../files/folder.ts';
import { type LoadedCluster, loadManifests } from '../files/load.ts';
import { CommandError } from '../terminal/commanderror.ts';
import { plural } from '../terminal/plural.ts';
import { startProgress } from '../terminal/progress.ts';

/**
 * Folders, files, and `-` for standard input, as one cluster; `namespace` is that of objects that name none. Throws
 * CommandError where a path cannot be read.
 */
export async function readFiles(paths: readonly string[], namespace?: string): Promise<LoadedCluster> {
  for (const path of paths) await requireReadable(path);
  const progress = startProgress();
  try {
    const show = (files: number) => progress.show(`reading manifests: ${plural(files, 'file')}`);
    return await loadManifests(paths, show, namespace);
  } finally {
    progress.end();
  }
}

export async function requireReadable(path: string): Promise<void> {
  if (path === '-') return;
  await stat(path).catch(error => {
    throw new CommandError(`cannot read ${path}: it ${readFailure(error)}`);
  });
}
