import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { CHECK_NAMES } from '../../src/api/health/check.ts';

const PAGE = readFileSync(new URL('../../docs/kni.md', import.meta.url), 'utf8');

test('the page of KNI has a row for each check, in the order in which people see them', () => {
  const [, checks = ''] = PAGE.split('\n## Checks\n');
  expect([...checks.matchAll(/^\| `([a-z0-9-]+)` \|/gm)].map(([, name]) => name)).toEqual(CHECK_NAMES);
});
