/** Reads manifests from files, folders and standard input; src/inputs/files makes a cluster of their texts. */
import { text } from 'node:stream/consumers';
import { type Lint, type LoadedCluster, ManifestCollector } from '../../inputs/files/load.ts';
import { isRendered, renderedName } from '../../inputs/files/rendered.ts';
import { readManifestFile } from '../../inputs/folder/folder.ts';
import { listRepository, type Repository } from '../../inputs/folder/repository.ts';
import { errorText } from '../../lib/text/errortext.ts';
import { MOST_RENDERED, type Renderer } from './render.ts';

/** Paths of folders and files, `-` for standard input; all of them are one cluster. */
type Paths = string | readonly string[];

/** Is called with the number of files that were read so far. */
type Progress = (files: number) => void;

/** Reads manifests once; `namespace` is that of objects that name none. Throws where a path itself cannot be read. */
export async function loadManifests(
  paths: Paths,
  progress?: Progress,
  namespace?: string,
  onText?: (text: string) => void,
): Promise<LoadedCluster> {
  const collector = new ManifestCollector({ namespace, onText });
  await readAll(paths, collector, progress);
  return collector.loaded();
}

/** The same, and all that is wrong: with every document, and with the cluster as a whole. */
export async function checkManifests(
  paths: Paths,
  lint: Lint,
  { namespace, renderer }: CheckedAs = {},
): Promise<LoadedCluster> {
  const collector = new ManifestCollector({ namespace, allDocuments: true });
  await readAll(paths, collector, undefined, renderer);
  return collector.checked(lint);
}

interface CheckedAs {
  readonly namespace?: string | undefined;
  /** Charts and kustomizations are rendered by it. */
  readonly renderer?: Renderer | undefined;
}

/** One after another, a file once: the memory that reading takes is that of one file. */
async function readAll(
  paths: Paths,
  collector: ManifestCollector,
  progress: Progress = () => {},
  renderer?: Renderer,
): Promise<void> {
  const seen = new Set<string>();
  for (const path of [paths].flat())
    for (const file of path === '-' ? [path] : await listed(path, collector, renderer)) {
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
  renderer?: Renderer,
): Promise<readonly string[]> {
  const found = await listRepository(path);
  const { files, tally } = renderer === undefined ? found : await render(path, found, collector, renderer);
  collector.leftOut(tally);
  return files;
}

/** Reads what can be rendered; what comes back is to be read, or left out, as it is. */
async function render(
  root: string,
  { files, tally, kustomizations, patches }: Repository,
  collector: ManifestCollector,
  renderer: Renderer,
): Promise<Pick<Repository, 'files' | 'tally'>> {
  const charts = renderer.chartsBy ? tally.charts.slice(0, MOST_RENDERED) : [];
  for (const chart of charts)
    await put(renderedName('helm template', chart), () => renderer.renderChart(chart), collector);
  const command = renderer.kustomizationsBy;
  const built = command ? kustomizations.slice(0, MOST_RENDERED) : [];
  const read = new Set<string>();
  for (const { folder, files } of built) {
    const text = () => renderer.renderKustomization(folder, root);
    const isRead = await put(
      renderedName(command!, folder),
      text,
      collector,
      'its files are read as they are',
    );
    if (isRead) for (const file of files) read.add(file);
  }
  const isLeft = (file: string) => !read.has(file);
  const left = {
    charts: tally.charts.slice(charts.length),
    kustomizations: kustomizations.slice(built.length).map(({ folder }) => folder),
    patches: patches.filter(isLeft).length,
    policies: tally.policies.filter(isLeft),
  };
  return { files: files.filter(isLeft), tally: { ...tally, ...left } };
}

/** Whether there was a text. */
async function put(
  name: string,
  text: () => Promise<string>,
  collector: ManifestCollector,
  effect = 'nothing of it is read',
): Promise<boolean> {
  try {
    collector.put(name, collector.read(await text(), name));
    return true;
  } catch (error) {
    const message = `cannot be rendered: ${errorText(error)}`;
    collector.put(name, { problems: [{ severity: 'error', file: name, message, effect }] });
    return false;
  }
}

const STDIN = 'standard input';

/** Whether what a problem calls a file is one, and can be written. */
export function isFile(name: string): boolean {
  return name !== STDIN && !isRendered(name);
}

/** Enough for kubectl's output of all pods of a large cluster, which is read only once. */
const LARGEST_READ_ONCE = 256 * 1024 * 1024;
