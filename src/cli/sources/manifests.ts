/** Reads manifests from files, folders and standard input; src/inputs/files makes a cluster of their texts. */
import { text } from 'node:stream/consumers';
import { type Lint, type LoadedCluster, ManifestCollector } from '../../inputs/files/load.ts';
import { readManifestFile } from '../../inputs/folder/folder.ts';
import { listRepository } from '../../inputs/folder/repository.ts';

/** Paths of folders and files, `-` for standard input; all of them are one cluster. */
type Paths = string | readonly string[];

/** Is called with the number of files that were read so far. */
type Progress = (files: number) => void;

/** Reads manifests once; `namespace` is that of objects that name none. Throws where a path itself cannot be read. */
export async function loadManifests(
  paths: Paths,
  progress?: Progress,
  namespace?: string,
): Promise<LoadedCluster> {
  const collector = new ManifestCollector({ namespace });
  await readAll(paths, collector, progress);
  return collector.loaded();
}

/** The same, and all that is wrong: with every document, and with the cluster as a whole. */
export async function checkManifests(paths: Paths, lint: Lint, namespace?: string): Promise<LoadedCluster> {
  const collector = new ManifestCollector({ namespace, allDocuments: true });
  await readAll(paths, collector);
  return collector.checked(lint);
}

/** One after another, a file once: the memory that reading takes is that of one file. */
async function readAll(
  paths: Paths,
  collector: ManifestCollector,
  progress: Progress = () => {},
): Promise<void> {
  const seen = new Set<string>();
  for (const path of [paths].flat())
    for (const file of path === '-' ? [path] : await listed(path, collector)) {
      if (seen.has(file)) continue;
      seen.add(file);
      const { read } = collector;
      if (path === '-') collector.put(STDIN, read(await text(process.stdin), STDIN));
      else collector.put(file, await readManifestFile(file, read, LARGEST_READ_ONCE, file === path));
      progress(seen.size);
    }
}

async function listed(path: string, collector: ManifestCollector): Promise<readonly string[]> {
  const { files, tally } = await listRepository(path);
  collector.leftOut(tally);
  return files;
}

const STDIN = 'standard input';

/** Enough for kubectl's output of all pods of a large cluster, which is read only once. */
const LARGEST_READ_ONCE = 256 * 1024 * 1024;
