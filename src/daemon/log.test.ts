import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const BAD = 'x\x1b[2J\x9b31m\u202e\nforged';
const LOG = `
  const { makeLog } = await import(process.argv[1]);
  const [, , format, bad] = process.argv;
  const log = await makeLog({ logFormat: format, logLevel: 'warn' });
  log.info({}, 'too little');
  log.warn({ pod: bad, [bad]: 1, err: new Error(bad) }, 'Pod ' + bad);
`;

test.each(['json', 'pretty'])('a %s log obeys nothing that somebody wrote into a name', format => {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', LOG, join(import.meta.dirname, 'log.ts'), format, BAD],
    { encoding: 'utf8', env: { ...process.env, NO_COLOR: '1' } },
  );
  expect(stderr).toBe('');
  expect(stdout).toContain('\\u001b[2J');
  expect(stdout).toMatch(format === 'json' ? /"level":"warn"/ : /WARN/);
  expect(stdout).not.toContain('too little');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there
  expect(stdout).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
  expect(stdout.split('\n').filter(line => line.startsWith('forged'))).toEqual([]);
});
