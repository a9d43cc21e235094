import type { Stats } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { LoadedCluster } from '../../inputs/files/load.ts';
import { leftOutTexts, readingNotes } from '../../inputs/files/tally.ts';
import { readFailure } from '../../inputs/folder/folder.ts';
import { plural } from '../../lib/text/plural.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { startProgress } from '../../terminal/progress.ts';
import { loadManifests } from './manifests.ts';

/**
 * Folders, files, and `-` for standard input, as one cluster; `namespace` is that of objects that name none. Throws
 * CommandError where a path cannot be read.
 */
export async function readFiles(
  paths: readonly string[],
  namespace?: string,
  onText?: (text: string) => void,
): Promise<LoadedCluster> {
  for (const path of paths) await requireReadable(path);
  const progress = startProgress();
  try {
    const show = (files: number) => progress.show(`reading manifests: ${plural(files, 'file')}`);
    return await loadManifests(paths, show, namespace, onText);
  } finally {
    progress.end();
  }
}

/** Whether nothing was read, and nothing is wrong either: an empty folder, or files of other things. */
export function holdsNothing({ cluster, inventory, problems }: LoadedCluster): boolean {
  const { namespaces, nodes, pods, policies, audited } = cluster;
  const { workloads, services } = inventory;
  const all = [namespaces, nodes, pods, policies, audited, workloads, services, problems];
  return all.every(each => ('size' in each ? each.size : each.length) === 0);
}

export function nothingIn(paths: readonly string[], { reading }: LoadedCluster): string {
  const names = paths.map(path => (path === '-' ? 'standard input' : path));
  const [leftOut, unrendered] = [leftOutTexts({ ...reading, foreign: 0 }), readingNotes(reading)];
  const what = leftOut.length === 0 ? '' : ` (left out: ${leftOut.join(', ')})`;
  return [`${names.join(', ')} holds no object that Sluice reads${what}`, ...unrendered].join('; ');
}

/** The file or folder at a path; undefined for standard input. Throws CommandError if there is none. */
export async function requireReadable(path: string): Promise<Stats | undefined> {
  return path === '-' ? undefined : stat(path).catch(error => refuse(path, error));
}

/** The contents of a file, or of standard input (`-`). Throws CommandError if it cannot be read. */
export async function readText(path: string): Promise<string> {
  return path === '-' ? text(process.stdin) : readFile(path, 'utf8').catch(error => refuse(path, error));
}

function refuse(path: string, error: unknown): never {
  throw new CommandError(`cannot read ${path}: it ${readFailure(error)}`);
}
