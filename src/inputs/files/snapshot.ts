import { stat } from 'node:fs/promises';
import { listManifests } from './listing.ts';

/** The manifests under a path, each with a text that changes whenever the file may have. */
export type FolderSnapshot = ReadonlyMap<string, string>;

/** Throws where the path itself cannot be read: a folder that vanished is not a folder without files. */
export async function takeSnapshot(root: string): Promise<FolderSnapshot> {
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

export function isSameSnapshot(a: FolderSnapshot, b: FolderSnapshot): boolean {
  return a.size === b.size && [...a].every(([file, signature]) => b.get(file) === signature);
}
