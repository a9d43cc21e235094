import { stat } from 'node:fs/promises';
import { watch } from 'chokidar';
import { sleep } from '../../lib/async/sleep.ts';
import type { ClusterEvent } from '../../model/cluster.ts';
import type { Problem } from '../../model/problem.ts';
import { isWhole, type Manifest } from '../files/manifest.ts';
import { ManifestStore } from '../files/store.ts';
import { listManifests, readFailure, readManifestFile } from './folder.ts';

export interface ManifestListener {
  /** Called with all events of one change at once; never empty. */
  onEvents(events: readonly ClusterEvent[]): void;
  /** Everything that is wrong with the manifests now, whenever that changes; empty where all is well again. */
  onProblems(problems: readonly Problem[]): void;
}

export interface WatchOptions {
  /** How long files must be unchanged before they are read, so that no half-written file is read. */
  readonly settleMs?: number;
  /** The longest wait for files that keep changing. */
  readonly maxWaitMs?: number;
  /** How often to look where no notice comes: some file systems send none, nor does a folder that returns. */
  readonly pollMs?: number;
}

export interface ManifestWatch {
  /**
   * Resolves after the first complete read, when its events were published. `complete` is false if a file or an object
   * could not be read: its earlier version may still be in force, and should stay.
   */
  readonly ready: Promise<{ readonly complete: boolean }>;
  /** When every file that could not be read whole at first was read whole, or is gone. */
  readonly whole: Promise<void>;
  close(): Promise<void>;
}

/** Follows a folder of manifests, or one file. A folder that vanishes keeps its last version until it returns. */
export function watchManifests(
  root: string,
  listener: ManifestListener,
  options: WatchOptions = {},
): ManifestWatch {
  const follower = new Follower(root, listener, { ...DEFAULTS, ...options });
  const running = follower.run();
  return {
    ready: follower.ready.promise,
    whole: follower.whole.promise,
    close: async () => {
      follower.close();
      await running;
    },
  };
}

const DEFAULTS = { settleMs: 40, maxWaitMs: 2000, pollMs: 1000 };

/**
 * Changes are always found by comparing the folder; notifications only trigger that. So a lost notification costs one
 * poll interval.
 */
class Follower {
  readonly ready = Promise.withResolvers<{ readonly complete: boolean }>();
  readonly whole = Promise.withResolvers<void>();
  readonly #root: string;
  readonly #listener: ManifestListener;
  readonly #options: Required<WatchOptions>;
  readonly #store = new ManifestStore();
  /** Files that could not be read whole at the first look, nor since. */
  readonly #notYetWhole = new Set<string>();
  #known: FolderSnapshot | undefined;
  #reportedProblems = '[]';
  #isClosed = false;
  #wake = Promise.withResolvers<void>();

  constructor(root: string, listener: ManifestListener, options: Required<WatchOptions>) {
    this.#root = root;
    this.#listener = listener;
    this.#options = options;
  }

  async run(): Promise<void> {
    // Links are followed by each look; the watcher must not follow them, because it would not end at a link to a parent
    // folder. An error here, such as too many inotify watches, only makes notifications rarer. Not persistent, because
    // a folder that is deleted while we close leaves a watch behind, which must not keep the agent's process alive.
    const notices = watch(this.#root, { ignoreInitial: true, followSymlinks: false, persistent: false });
    notices.on('error', () => {});
    notices.on('all', () => this.#wake.resolve());
    while (!this.#isClosed) {
      await this.#look();
      await this.#idle();
    }
    await notices.close();
  }

  close(): void {
    this.#isClosed = true;
    this.#wake.resolve();
  }

  async #idle(): Promise<void> {
    const poll = setTimeout(() => this.#wake.resolve(), this.#options.pollMs);
    await this.#wake.promise;
    clearTimeout(poll);
    if (!this.#isClosed) this.#wake = Promise.withResolvers();
  }

  async #look(): Promise<void> {
    const change = await readChange(this.#root, this.#known, this.#options);
    if (this.#isClosed) return;
    if ('unreachable' in change) return this.#reportProblems([change.unreachable]);
    this.#take(change);
    this.#reportProblems([]);
  }

  #take({ seen, manifests }: FolderChange): void {
    for (const [file, manifest] of manifests) this.#store.put(file, manifest);
    for (const file of this.#store.files)
      if (!seen.has(file) && !isWithin(file, seen)) this.#store.delete(file);
    const isFirst = this.#known === undefined;
    this.#known = seen;
    const events = this.#store.flush();
    if (events.length > 0) this.#listener.onEvents(events);
    for (const [file, manifest] of manifests) {
      if (isWhole(manifest)) this.#notYetWhole.delete(file);
      else if (isFirst) this.#notYetWhole.add(file);
    }
    for (const file of this.#notYetWhole) if (!seen.has(file)) this.#notYetWhole.delete(file);
    if (isFirst) this.ready.resolve({ complete: this.#notYetWhole.size === 0 });
    if (this.#notYetWhole.size === 0) this.whole.resolve();
  }

  #reportProblems(others: readonly Problem[]): void {
    const problems = [...others, ...this.#store.problems()];
    const text = JSON.stringify(problems);
    if (text !== this.#reportedProblems) this.#listener.onProblems(problems);
    this.#reportedProblems = text;
  }
}

/** Whether the file is in a folder that cannot be read now: those are seen under their own names. */
function isWithin(file: string, seen: FolderSnapshot): boolean {
  for (let end = file.lastIndexOf('/'); end > 0; end = file.lastIndexOf('/', end - 1))
    if (seen.has(file.slice(0, end))) return true;
  return false;
}

/** The files that are in a folder now, and the contents of those that have changed. */
export interface FolderChange {
  readonly seen: FolderSnapshot;
  readonly manifests: ReadonlyMap<string, Manifest>;
}

interface SettleTimes {
  readonly settleMs: number;
  readonly maxWaitMs: number;
}

/**
 * Reads what changed since `known`, and reads again until no file has changed for a while: a half-written file, or a
 * folder that is half copied or half deleted, must not count as the intended state. Files that keep changing are read
 * as they are after `maxWaitMs`, and the next look reads them again.
 */
export async function readChange(
  root: string,
  known: FolderSnapshot | undefined,
  { settleMs, maxWaitMs }: SettleTimes,
): Promise<FolderChange | { readonly unreachable: Problem }> {
  const deadline = performance.now() + maxWaitMs;
  try {
    for (;;) {
      const seen = await takeSnapshot(root);
      if (known !== undefined && isSameSnapshot(known, seen)) return { seen, manifests: new Map() };
      const manifests = await readChanged(seen, known);
      await sleep(settleMs);
      const stoodStill = isSameSnapshot(seen, await takeSnapshot(root));
      if (stoodStill || performance.now() > deadline) return { seen, manifests };
    }
  } catch (error) {
    return { unreachable: unreachable(root, error) };
  }
}

async function readChanged(
  seen: FolderSnapshot,
  known: FolderSnapshot | undefined,
): Promise<Map<string, Manifest>> {
  const manifests = new Map<string, Manifest>();
  for (const [file, signature] of seen)
    if (known?.get(file) !== signature) manifests.set(file, await readManifestFile(file));
  return manifests;
}

function unreachable(root: string, error: unknown): Problem {
  const effect = 'everything that was read from it stays as it was until it returns';
  return { severity: 'error', file: root, message: readFailure(error), effect };
}

/** The manifests under a path, each with a text that changes whenever the file may have. */
export type FolderSnapshot = ReadonlyMap<string, string>;

/** Throws where the path itself cannot be read: a folder that vanished is not a folder without files. */
async function takeSnapshot(root: string): Promise<FolderSnapshot> {
  const files = await listManifests(root);
  return new Map(await Promise.all(files.map(async file => [file, await signature(file)] as const)));
}

/** Links are followed, so a link that is swapped changes its inode here. */
async function signature(file: string): Promise<string> {
  const found = await stat(file, { bigint: true }).catch(() => undefined);
  if (found === undefined) return 'missing';
  const { dev, ino, size, mtimeNs, ctimeNs } = found;
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
}

function isSameSnapshot(a: FolderSnapshot, b: FolderSnapshot): boolean {
  return a.size === b.size && [...a].every(([file, signature]) => b.get(file) === signature);
}
