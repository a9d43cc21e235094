import { readFile, stat } from 'node:fs/promises';
import { MOST_FOLDERS } from './listing.ts';
import { type Manifest, readManifest, unreadable } from './manifest.ts';

const MEBIBYTE = 1024 * 1024;

/** A file is held in memory several times over while it is read. */
const LARGEST_FILE = 16 * MEBIBYTE;

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
    return { problems: [unreadable(path, whyUnlisted(error))] };
  }
}

/** A folder is listed as a file where there were too many before it. */
function whyUnlisted(error: unknown): string {
  const isFolder = (error as NodeJS.ErrnoException).code === 'EISDIR';
  return isFolder ? `is a folder beyond the first ${MOST_FOLDERS}` : readFailure(error);
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

/** In UTF-8, or in UTF-16 where it begins so, as some shells redirect output; kubectl reads both. */
function textOf(bytes: Buffer): string {
  const [first, second] = bytes;
  const isUtf16 = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  return isUtf16
    ? new TextDecoder(first === 0xff ? 'utf-16le' : 'utf-16be').decode(bytes)
    : bytes.toString('utf8');
}
