/** Two releases of Sluice, as manifests, and how somebody goes from one to the other. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments, stringify } from 'yaml';
import { kubectl, state } from './cluster.ts';

export type Release = 'today' | 'previous';

const FOLDERS: Record<Release, string> = {
  today: join(import.meta.dirname, '../../../../daemonset'),
  /** Of the commit whose layout was recorded last: previous.sh. */
  previous: join(state, 'previous'),
};

interface Manifest {
  readonly kind: string;
  readonly spec?: { updateStrategy?: object };
}

/** Applies its manifests: `OnDelete` changes a node when somebody deletes its agent's pod, and not before. */
export async function apply(release: Release, strategy: 'RollingUpdate' | 'OnDelete'): Promise<void> {
  const manifests = parseAllDocuments(await kubectl('kustomize', FOLDERS[release])).map(
    document => document.toJS() as Manifest,
  );
  const [daemonSet] = manifests.filter(({ kind }) => kind === 'DaemonSet');
  // No two agents on a node at a time: surge none.
  const rollingUpdate = { maxUnavailable: 1, maxSurge: 0 };
  daemonSet!.spec!.updateStrategy =
    strategy === 'OnDelete' ? { type: strategy } : { type: strategy, rollingUpdate };
  const file = join(mkdtempSync(join(tmpdir(), 'release-')), 'manifests.yaml');
  writeFileSync(file, manifests.map(manifest => stringify(manifest)).join('---\n'));
  await kubectl('apply', '-f', file);
}

/** Applies it node by node, and waits until all of its agents are ready. */
export async function rollOut(release: Release): Promise<void> {
  await apply(release, 'RollingUpdate');
  await kubectl('-n', 'sluice', 'rollout', 'status', 'daemonset/sluice', '--timeout=180s');
}
