/**
 * The manifests of a folder or of a drop. All names are looked at before anything is counted against a bound: policies that
 * are left out without a word would make every verdict wrong.
 */
import { decodedText } from '../../src/lib/text/decodedtext.ts';
import type { Files } from '../core/protocol.ts';
import { MOST_FILES } from './mostfiles.ts';

export type Named = readonly [name: string, file: File];

/** Files by their names: manifests, and how many others. */
export interface Sorted {
  readonly manifests: readonly Named[];
  readonly others: number;
  /** Names of what the browser could not read. */
  readonly unread: readonly string[];
  /** There were too many names to look at. */
  readonly hasMore: boolean;
}

export type Read = { readonly files: Files; readonly without?: string } | { readonly failure: string };

const MANIFEST = /\.(?:ya?ml|json)$/i;
const SKIPPED = /(?:^|\/)(?:node_modules|\.git)(?:\/|$)/;
const MOST_BYTES = 64 * 1024 * 1024;
/** More names are no folder of manifests: a home directory, perhaps. */
const MOST_NAMES = 200_000;

/** A file that is given alone may have any name. */
export function sortedFiles(all: readonly Named[]): Sorted {
  const some = all.filter(([name]) => !SKIPPED.test(name));
  const manifests = all.length === 1 ? all : some.filter(([name]) => MANIFEST.test(name));
  return { manifests, others: Math.max(0, some.length - manifests.length), unread: [], hasMore: false };
}

/** Walks the folders of a drop. */
export async function sortedEntries(entries: readonly FileSystemEntry[]): Promise<Sorted> {
  const [manifests, unread]: [Named[], string[]] = [[], []];
  const isAlone = entries.length === 1 && entries[0]!.isFile;
  const waiting = [...entries];
  let [others, names] = [0, 0];
  for (let entry = waiting.pop(); entry !== undefined && names <= MOST_NAMES; entry = waiting.pop()) {
    const name = entry.fullPath.replace(/^\//, '');
    if (SKIPPED.test(name)) continue;
    names++;
    try {
      if (entry.isDirectory)
        for (const each of await entriesOf(entry as FileSystemDirectoryEntry)) waiting.push(each);
      else if (isAlone || MANIFEST.test(name))
        manifests.push([name, await fileOf(entry as FileSystemFileEntry)]);
      else others++;
    } catch {
      unread.push(name);
    }
  }
  return { manifests, others, unread, hasMore: names > MOST_NAMES };
}

/** A reader gives a hundred entries at a time. */
async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (some.length === 0 || all.length > MOST_NAMES) return all;
    all.push(...some);
  }
}

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((resolve, reject) => entry.file(resolve, reject));
}

/** The texts, in the order of their names; or why there are none. */
export async function textsOf({ manifests, others, unread, hasMore }: Sorted): Promise<Read> {
  const size = manifests.reduce((sum, [, file]) => sum + file.size, 0);
  if (hasMore)
    return { failure: `These are more than ${MOST_NAMES.toLocaleString('en')} files: ${TOO_MUCH}` };
  if (unread.length > 0)
    return {
      failure: `${unread[0]} cannot be read${unread.length > 1 ? `, nor ${unread.length - 1} more` : ''}.`,
    };
  if (manifests.length === 0)
    return { failure: `${countText(others)}, and none ends in .yaml, .yml or .json.` };
  if (manifests.length > MOST_FILES || size > MOST_BYTES)
    return {
      failure: `These are ${manifests.length} manifests of ${Math.ceil(size / 2 ** 20)} MB: ${TOO_MUCH}`,
    };
  const files = await Promise.all(
    manifests.map(
      async ([name, file]) => [name, decodedText(new Uint8Array(await file.arrayBuffer()))] as const,
    ),
  );
  return {
    files: withOwnNames(files.sort(([a], [b]) => (a < b ? -1 : 1))),
    ...(others > 0 && { without: withoutText(manifests.length, others) }),
  };
}

/** Files of several folders may be dropped together, without their folders: of two with one name, one would not be judged. */
function withOwnNames(files: Files): Files {
  const taken = new Set(files.map(([name]) => name));
  const seen = new Set<string>();
  return files.map(([name, text]) => {
    let own = name;
    for (let number = 2; seen.has(own) || (own !== name && taken.has(own)); number++)
      own = name.replace(/(?=\.[^./]*$|$)/, `-${number}`);
    seen.add(own);
    return [own, text] as const;
  });
}

const TOO_MUCH =
  'this page reads at most 5,000 manifests of 64 MB together. Nothing was opened, because what is left out may be a policy.';

function countText(others: number): string {
  return others === 1 ? 'This is one file' : `These are ${others} files`;
}

function withoutText(manifests: number, others: number): string {
  const opened = manifests === 1 ? '1 file was' : `${manifests} files were`;
  const left =
    others === 1 ? '1 other was left out: its name does' : `${others} others were left out: their names do`;
  return `${opened} opened. ${left} not end in .yaml, .yml or .json.`;
}
