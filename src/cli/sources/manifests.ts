/** Reads manifests from files, folders and standard input; src/inputs/files makes a cluster of their texts. */
import { text } from 'node:stream/consumers';
import { type Lint, type LoadedCluster, ManifestCollector } from '../../inputs/files/load.ts';
import { type Manifest, unreadable } from '../../inputs/files/manifest.ts';
import { readManifestFile } from '../../inputs/folder/folder.ts';
import { listRepository } from '../../inputs/folder/repository.ts';
import { MOST_CHARTS, renderChart } from './render.ts';

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
export async function checkManifests(
  paths: Paths,
  lint: Lint,
  { namespace, render = false }: CheckedAs = {},
): Promise<LoadedCluster> {
  const collector = new ManifestCollector({ namespace, allDocuments: true });
  await readAll(paths, collector, undefined, render);
  return collector.checked(lint);
}

interface CheckedAs {
  readonly namespace?: string | undefined;
  /** Whether charts are rendered, with the user's helm. */
  readonly render?: boolean | undefined;
}

/** One after another, a file once: the memory that reading takes is that of one file. */
async function readAll(
  paths: Paths,
  collector: ManifestCollector,
  progress: Progress = () => {},
  render = false,
): Promise<void> {
  const seen = new Set<string>();
  for (const path of [paths].flat())
    for (const file of path === '-' ? [path] : await listed(path, collector, render)) {
      if (seen.has(file)) continue;
      seen.add(file);
      const { read } = collector;
      if (path === '-') collector.put(STDIN, read(await text(process.stdin), STDIN));
      else collector.put(file, await readManifestFile(file, read, LARGEST_READ_ONCE, file === path));
      progress(seen.size);
    }
}

async function listed(
  path: string,
  collector: ManifestCollector,
  render: boolean,
): Promise<readonly string[]> {
  const { files, tally } = await listRepository(path);
  const rendered = render ? tally.charts.slice(0, MOST_CHARTS) : [];
  for (const chart of rendered) collector.put(`${RENDERED}${chart}`, await readChart(chart, collector));
  collector.leftOut({ ...tally, charts: tally.charts.slice(rendered.length) });
  return files;
}

async function readChart(chart: string, { read }: ManifestCollector): Promise<Manifest> {
  const name = `helm template ${chart}`;
  const text = await renderChart(chart).catch((error: Error) => error);
  if (text instanceof Error) return { problems: [unreadable(name, `cannot be rendered: ${text.message}`)] };
  return read(text, name);
}

const STDIN = 'standard input';
const RENDERED = 'helm template ';

/** Whether what a problem calls a file is one, and can be written. */
export function isFile(name: string): boolean {
  return name !== STDIN && !name.startsWith(RENDERED);
}

/** Enough for kubectl's output of all pods of a large cluster, which is read only once. */
const LARGEST_READ_ONCE = 256 * 1024 * 1024;
