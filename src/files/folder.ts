import { lstat, readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type Manifest, readManifest, unreadable } from './manifest.ts';

/**
 * The manifests under a path: of a folder all YAML and JSON files in it and in its folders, links followed;
 * of a file that file. Sorted; names that begin with a dot are left out, and with them the folders that a
 * ConfigMap's links point into. A folder that cannot be read, a link to nowhere, and a pipe or device, are listed as if
 * they were files: reading them says why, and what they held before is not taken for gone. Throws where the path itself
 * cannot be read.
 */
export async function listManifests(root: string): Promise<readonly string[]> {
  return listFolder(root, []);
}

/** `around` are the folders that this one is in: a link to one of them holds nothing new, and no end. */
async function listFolder(folder: string, around: readonly string[]): Promise<readonly string[]> {
  const { dev, ino, ...kind } = await stat(folder).then(stats => ({
    dev: stats.dev,
    ino: stats.ino,
    isFolder: stats.isDirectory(),
  }));
  if (!kind.isFolder) return [folder];
  const identity = `${dev}:${ino}`;
  if (around.includes(identity)) return [];
  const names = (await readdir(folder)).filter(name => !name.startsWith('.')).toSorted();
  const lists = await Promise.all(names.map(name => listEntry(join(folder, name), [...around, identity])));
  return lists.flat();
}

/** An entry may vanish between the listing and this. */
async function listEntry(path: string, around: readonly string[]): Promise<readonly string[]> {
  const link = await lstat(path).catch(() => undefined);
  if (link === undefined) return [];
  try {
    const kind = await stat(path);
    if (kind.isDirectory()) return await listFolder(path, around);
    return isManifest(path) ? [path] : [];
  } catch {
    return [path];
  }
}

export function isManifest(path: string): boolean {
  return /\.(ya?ml|json)$/i.test(path) && !basename(path).startsWith('.');
}

const MEBIBYTE = 1024 * 1024;

/** A file is held in memory several times over while it is read. */
export const LARGEST_FILE = 16 * MEBIBYTE;

/** What a file says, as `read` reads it; `largest` is in bytes. A pipe or device is read where it was named itself. */
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
    return read(textOf(await readFile(path)), path);
  } catch (error) {
    return { problems: [unreadable(path, readFailure(error))] };
  }
}

/** Why the file system refused, in words. */
export function readFailure(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'does not exist';
  return code === 'EACCES' ? 'may not be read by this user' : `cannot be read: ${message}`;
}

function mebibytes(bytes: number): string {
  return (bytes / MEBIBYTE).toFixed(1);
}

/** In UTF-8, or in UTF-16 where it begins so, as some shells redirect output; kubectl reads both. */
function textOf(bytes: Buffer): string {
  const [first, second] = bytes;
  const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  return isUtf16
    ? new TextDecoder(first === 0xff ? 'utf-16le' : 'utf-16be').decode(bytes)
    : bytes.toString('utf8');
}
