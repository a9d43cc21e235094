import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

function sluice(...words: string[]) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(import.meta.dirname, 'main.ts'), ...words],
    { encoding: 'utf8' },
  );
  return { status, stdout, stderr };
}

test('inspect --help says what exit code 0 does not mean', () => {
  const { status, stdout } = sluice('inspect', '--help');
  expect(status).toBe(0);
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
    '0 where it is, and also where no desired state could be read',
  );
});

test.each(['inspect', 'trace'])('%s refuses to compare with manifests as no node of theirs', command => {
  const shop = join(import.meta.dirname, '../../examples/shop');
  const flow = command === 'trace' ? ['guest/visitor', 'shop/db:5432'] : [];
  expect(sluice(command, ...flow, '--manifests', shop)).toEqual({
    status: 2,
    stdout: '',
    stderr: `sluice: to compare with --manifests, ${command} needs --node NAME beside them\n`,
  });
});
