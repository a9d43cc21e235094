/**
 * Any folder of people's: its manifests, without what no tool that applies them would take. `sluice agent` reads its
 * folder whole instead (folder.ts): there everything is meant.
 */
import { basename, dirname, join, relative } from 'node:path';
import type { FolderTally } from '../files/tally.ts';
import { type Entry, type FolderRules, isManifest, listManifests } from './folder.ts';
import { type Ignores, isIgnored, parseIgnores, Steps } from './gitignore.ts';
import { type Kustomization, Kustomizations, textOf } from './kustomizations.ts';

export interface Repository {
  readonly files: readonly string[];
  readonly tally: FolderTally;
  readonly kustomizations: readonly Kustomization[];
  /** Files that are left out because they change objects of others. */
  readonly patches: readonly string[];
}

const MOST_FOLDERS = 50_000;

/** Throws if the path itself cannot be read. */
export async function listRepository(root: string): Promise<Repository> {
  const rules = new RepositoryRules(root);
  const all = await listManifests(root, MOST_FOLDERS, rules);
  const { charts, ignored, lostLinks, isIgnoreCut, kustomizations } = rules;
  await kustomizations.read();
  const applied = kustomizations.patches();
  const [files, patches] = [all.filter(file => !applied.has(file)), all.filter(file => applied.has(file))];
  const policies = await filesWithPolicy([...rules.ignoredPaths, ...patches]);
  const tally = { charts, ignored, lostLinks, isIgnoreCut, patches: patches.length, policies };
  return { files, tally, kustomizations: kustomizations.built(), patches };
}

class RepositoryRules implements FolderRules {
  readonly charts: string[] = [];
  readonly kustomizations = new Kustomizations();
  /** Of folders `node_modules` none: there is nothing of their repository's own in them. */
  readonly ignoredPaths: string[] = [];
  ignored = 0;
  lostLinks = 0;
  readonly #root: string;
  /** The `.gitignore` of each folder that has one. */
  readonly #ignores = new Map<string, Ignores>();
  readonly #steps = new Steps();

  constructor(root: string) {
    this.#root = join(root, '.');
  }

  get isIgnoreCut(): boolean {
    return this.#steps.areSpent || [...this.#ignores.values()].some(({ isCut }) => isCut);
  }

  async kept(path: string, entries: readonly Entry[], names: ReadonlySet<string>): Promise<readonly Entry[]> {
    const folder = join(path, '.');
    if (names.has('.gitignore'))
      this.#ignores.set(folder, parseIgnores(await textOf(join(folder, '.gitignore'))));
    this.kustomizations.addFolder(folder, names);
    const isFolder = (name: string) =>
      entries.some(({ path, identity }) => identity !== undefined && basename(path) === name);
    const isChart = names.has('Chart.yaml') && isFolder('templates');
    if (isChart) this.charts.push(folder);
    return entries.filter(entry => !(isChart && OF_CHART.has(basename(entry.path))) && this.#isKept(entry));
  }

  #isKept({ path, identity, isLost }: Entry): boolean {
    const isFolder = identity !== undefined;
    if (!(isFolder || isManifest(path))) {
      if (isLost) this.lostLinks++;
      return false;
    }
    const isOfNode = isFolder && basename(path) === 'node_modules';
    const isIgnored = !isOfNode && this.#isIgnored(path, isFolder);
    if (isIgnored) this.ignoredPaths.push(path);
    if (isOfNode || isIgnored) this.ignored++;
    return !(isOfNode || isIgnored);
  }

  /** The folder above it that says something decides. What git itself ignores above the root counts for nothing. */
  #isIgnored(path: string, isFolder: boolean): boolean {
    if (this.#ignores.size === 0) return false;
    for (let folder = dirname(path); ; folder = dirname(folder)) {
      const ignores = this.#ignores.get(folder);
      const verdict = ignores && isIgnored(ignores, relative(folder, path), isFolder, this.#steps);
      if (verdict !== undefined) return verdict;
      if (folder === this.#root || folder === dirname(folder)) return false;
    }
  }
}

/** What is ignored may be much, and of no interest. */
const MOST_IGNORED_FOLDERS = 1_000;
const MOST_IGNORED_FILES = 1_000;

const MENTIONS_POLICY = /\bkind["']?\s*:\s*["']?\w*NetworkPolicy/;

/** The manifests among paths, and in folders among them, that mention a policy: answers lack it. */
async function filesWithPolicy(paths: readonly string[]): Promise<readonly string[]> {
  const [found, seen] = [new Set<string>(), new Set<string>()];
  let folders = 0;
  const kept = async (_: string, entries: readonly Entry[]) =>
    ++folders > MOST_IGNORED_FOLDERS
      ? []
      : entries.filter(({ path, isLink }) => !isLink && basename(path) !== 'node_modules');
  for (const path of paths)
    for (const file of await listManifests(path, MOST_IGNORED_FOLDERS, { kept }).catch(() => [])) {
      if (seen.size === MOST_IGNORED_FILES) return [...found];
      seen.add(file);
      if (MENTIONS_POLICY.test(await textOf(file))) found.add(file);
    }
  return [...found];
}

const OF_CHART: ReadonlySet<string> = new Set(['templates', 'charts']);
