import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readDumped } from './agent.ts';

test('readDumped() says of which node alone the pods are whose names it knows', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-dump-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'dump.json');
  const status = { node: 'n2', denies_unknown_pods: false };
  writeFileSync(file, JSON.stringify({ at: '2026-01-01T00:00:00Z', agent: { status, state: [] } }));
  expect((await readDumped(file)).known.node).toBe('n2');
});
