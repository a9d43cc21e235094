import type { Dirent } from 'node:fs';
import { lstat, readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { decodedText } from '../../lib/text/decodedtext.ts';
import { type Manifest, readManifest, unreadable } from '../files/manifest.ts';

const MEBIBYTE = 1024 * 1024;

/** A file is held in memory several times over while it is read. */
const LARGEST_FILE = 16 * MEBIBYTE;

/**
 * The text of a file, read by `read`; `largest` is in bytes. A pipe or device is read only if the path itself names it.
 */
export async function readManifestFile(
  path: string,
  read: (text: string, file: string) => Manifest = readManifest,
  largest = LARGEST_FILE,
  isNamed = false,
): Promise<Manifest> {
  try {
    const kind = await stat(path);
    const no = (why: string): Manifest => ({ problems: [unreadable(path, why)] });
    if (!isNamed && !kind.isFile() && !kind.isDirectory()) return no('is neither a file nor a folder');
    if (kind.size > largest)
      return no(`has ${mebibytes(kind.size)} MiB, and ${largest / MEBIBYTE} is the most`);
    return read(decodedText(await readFile(path)), path);
  } catch (error) {
    return { problems: [unreadable(path, whyUnlisted(error))] };
  }
}

/** A folder is listed as a file where there were too many before it. */
function whyUnlisted(error: unknown): string {
  const isFolder = (error as NodeJS.ErrnoException).code === 'EISDIR';
  return isFolder ? 'is a folder, and more folders than are read come before it' : readFailure(error);
}

/** Why the file system refused, in words. */
export function readFailure(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'does not exist';
  if (code === 'EISDIR') return 'is a folder';
  return code === 'EACCES' ? 'may not be read by this user' : `cannot be read: ${message}`;
}

function mebibytes(bytes: number): string {
  return (bytes / MEBIBYTE).toFixed(1);
}

/** A link to the root of a machine is no folder of manifests. */
const MOST_FOLDERS = 4_096;

/**
 * The manifests under a path: for a folder all YAML and JSON files in it and its subfolders, links followed; for a file
 * that file. Sorted. Names that begin with a dot are left out, also the folders to which a ConfigMap's links point. A
 * folder is listed once, however many links lead to it: at its own place, if that is under the path. A folder that
 * cannot be read or exceeds the limit, a broken link, and a pipe or device, are listed as if they were files: reading
 * them reports the problem, and the objects that were in them are not taken for deleted. Throws if the path itself
 * cannot be read.
 */
export async function listManifests(
  root: string,
  most = MOST_FOLDERS,
  rules?: FolderRules,
): Promise<readonly string[]> {
  const kind = await stat(root);
  return kind.isDirectory() ? new Listing(most, rules).all(root, identityOf(kind)) : [root];
}

/** What else is left out of folders; `names` are all of a folder, also those that begin with a dot. */
export interface FolderRules {
  kept(folder: string, entries: readonly Entry[], names: ReadonlySet<string>): Promise<readonly Entry[]>;
}

export function isManifest(path: string): boolean {
  return /\.(ya?ml|json)$/i.test(path) && !basename(path).startsWith('.');
}

export interface Entry {
  readonly path: string;
  readonly isLink: boolean;
  /** Set only for a folder. */
  readonly identity?: string;
  /** Whether it cannot be read. */
  readonly isLost?: boolean;
}

class Listing {
  readonly #most: number;
  readonly #rules: FolderRules | undefined;
  readonly #seen = new Set<string>();
  readonly #found: string[] = [];
  /** Links to folders. Links to folders that are also in the tree themselves add nothing. */
  readonly #links: Entry[] = [];
  #isExceeded = false;

  constructor(most: number, rules?: FolderRules) {
    this.#most = most;
    this.#rules = rules;
  }

  async all(root: string, identity: string): Promise<readonly string[]> {
    await this.#folder(root, identity);
    for (const { path, identity } of this.#links)
      await this.#folder(path, identity!).catch(() => this.#add(path));
    return this.#found.toSorted((a, b) => (inOrder(a) < inOrder(b) ? -1 : 1));
  }

  async #folder(path: string, identity: string): Promise<void> {
    if (this.#seen.has(identity)) return;
    if (this.#seen.size >= this.#most) return this.#addExcess(path);
    this.#seen.add(identity);
    const all = await readdir(path, { withFileTypes: true });
    const shown = all.filter(({ name }) => !name.startsWith('.')).sort((a, b) => (a.name < b.name ? -1 : 1));
    const entries = (await Promise.all(shown.map(dirent => entryOf(join(path, dirent.name), dirent)))).flat();
    const names = new Set(all.map(({ name }) => name));
    const kept = (await this.#rules?.kept(path, entries, names)) ?? entries;
    for (const entry of kept) await this.#entry(entry);
  }

  async #entry(entry: Entry): Promise<void> {
    const { path, identity, isLink, isLost } = entry;
    if (identity === undefined) {
      if (isLost || isManifest(path)) this.#add(path);
    } else if (isLink) this.#links.push(entry);
    else await this.#folder(path, identity).catch(() => this.#add(path));
  }

  /** Of a repository the first one says that there are more. */
  #addExcess(path: string): void {
    if (this.#rules === undefined || !this.#isExceeded) this.#add(path);
    this.#isExceeded = true;
  }

  #add(path: string): void {
    this.#found.push(path);
  }
}

/** A key by which the files of a folder sort next to each other. */
function inOrder(path: string): string {
  return path.replaceAll('/', '\0');
}

/** Reads an entry, which may have vanished since the listing. Of a plain file the listing says enough. */
async function entryOf(path: string, dirent: Dirent): Promise<readonly Entry[]> {
  if (dirent.isFile()) return [{ path, isLink: false }];
  const own = await lstat(path).catch(() => undefined);
  if (own === undefined) return [];
  const isLink = own.isSymbolicLink();
  const kind = await stat(path).catch(() => undefined);
  if (kind === undefined) return [{ path, isLink, isLost: true }];
  return [{ path, isLink, ...(kind.isDirectory() && { identity: identityOf(kind) }) }];
}

function identityOf({ dev, ino }: { readonly dev: number; readonly ino: number }): string {
  return `${dev}:${ino}`;
}
