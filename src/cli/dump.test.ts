import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readDump } from './sources/agent.ts';

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-dump-'));
  file = join(folder, 'dump.json');
});
afterEach(() => rmSync(folder, { recursive: true }));

test.each([
  ['nothing', ''],
  ['a manifest', 'kind: Pod\n'],
  ['a list', '[]'],
  ['another object', '{"kind":"Pod"}'],
  ['half an agent', '{"agent":{"status":{}}}'],
  ['state that is no list', '{"agent":{"status":{},"state":{}}}'],
])('%s is not taken for a dump', async (_, text) => {
  writeFileSync(file, text);
  await expect(readDump(file)).rejects.toThrow(`${file} is not what \`sluice inspect dump\` writes`);
});

test('a dump without an agent says why', async () => {
  writeFileSync(file, '{"agent":{"missing":"no agent runs here"},"kernel":{"tables":""}}');
  await expect(readDump(file)).rejects.toThrow(`${file} holds no cluster: no agent runs here`);
});

test('a file that is not there is named', async () => {
  await expect(readDump(file)).rejects.toThrow(`cannot read ${file}: it does not exist`);
});
