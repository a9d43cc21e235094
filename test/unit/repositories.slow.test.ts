/** What `sluice check` says of folders that are shaped like well-known repositories, as files to review. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const FOLDER = join(import.meta.dirname, '../fixtures/repositories');
const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');
const NAMES = readdirSync(FOLDER, { withFileTypes: true })
  .filter(each => each.isDirectory())
  .map(({ name }) => name);

test('ten repositories', () => expect(NAMES).toHaveLength(10));

function sluice(cwd: string, ...words: string[]): string {
  const { stdout, stderr, status } = spawnSync(process.execPath, [MAIN, ...words], { cwd, encoding: 'utf8' });
  return `${stdout}${stderr}exit code ${status}\n`;
}

test.each(NAMES)('%s', async name => {
  await expect(sluice(FOLDER, 'check', name)).toMatchFileSnapshot(join(FOLDER, `${name}.txt`));
});

test('check --fix: what it mends is not warned of any more, and diff shows what that opens and closes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-repositories-'));
  for (const name of ['before', 'after'])
    cpSync(join(FOLDER, 'monorepo'), join(folder, name), { recursive: true });
  const told = sluice(folder, 'check', '--fix', 'after');
  const fixed = [...told.matchAll(/^fixed\[([^\]]*)\]/gm)].map(([, code]) => code!);
  expect(fixed.toSorted()).toEqual(['dns-anyone', 'legacy-address', 'no-dns', 'service-port']);
  for (const code of fixed) expect(told).not.toContain(`warning[${code}]`);
  const changes = sluice(folder, 'diff', 'before', 'after');
  rmSync(folder, { recursive: true });
  await expect(changes).toMatchFileSnapshot(join(FOLDER, 'monorepo-fixed.txt'));
});
