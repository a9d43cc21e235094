import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadManifests } from '../../src/cli/sources/manifests.ts';
import { EDITS } from './edits.ts';

const example = fileURLToPath(new URL('../../examples/shop', import.meta.url));
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'edits-'));
  cpSync(example, folder, { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true }));

test('the edits change one policy and one pod, and nothing else', async () => {
  const before = await loadManifests(folder);
  for (const edit of EDITS) edit.apply(folder);
  const after = await loadManifests(folder);
  expect(after.problems).toEqual(before.problems);
  const changed = [...after.cluster.policies].filter(
    ([id, policy]) => JSON.stringify(policy) !== JSON.stringify(before.cluster.policies.get(id)),
  );
  expect(changed.map(([id]) => id)).toEqual(['NetworkPolicy shop/web']);
  const relabelled = [...after.cluster.pods].filter(
    ([key, pod]) => JSON.stringify(pod) !== JSON.stringify(before.cluster.pods.get(key)),
  );
  expect(relabelled.map(([key, { labels }]) => [key, labels.app])).toEqual([['shop/jobs', 'api']]);
  expect(after.cluster.pods.size).toBe(before.cluster.pods.size);
});
