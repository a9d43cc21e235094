import { sleep } from '../../lib/async/sleep.ts';
import type { Problem } from '../../model/problem.ts';
import { readFailure, readManifestFile } from './folder.ts';
import type { Manifest } from './manifest.ts';
import { type FolderSnapshot, isSameSnapshot, takeSnapshot } from './snapshot.ts';

/** What is in a folder now, and what those of its files say that are not as they were. */
export interface FolderChange {
  readonly seen: FolderSnapshot;
  readonly manifests: ReadonlyMap<string, Manifest>;
}

export interface SettleTimes {
  readonly settleMs: number;
  readonly maxWaitMs: number;
}

/**
 * Reads what changed since `known`, and again until no file changed meanwhile and for a while after: a file that is
 * half written, and a folder that is half copied or half deleted, must not be taken for what somebody meant. Files that
 * keep changing are read as they are after `maxWaitMs`, and the next look reads them again.
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
