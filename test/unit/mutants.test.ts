/** Where planted faults find their place, in a tree of our own. That all of ours have one is what `npm run mutants` says. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Mutant } from '../mutants/mutants.ts';
import { Places } from '../mutants/places.ts';

let tree: string;

beforeEach(() => {
  tree = mkdtempSync(join(tmpdir(), 'sluice-places-'));
  write(
    'src/inputs/kube/pod.ts',
    'function first() {\n  return 1;\n}\nfunction second() {\n  return 1;\n}\n',
  );
  write('src/inputs/kube/pod.slow.test.ts', '');
  write('src/nft/pod.test.ts', '');
  write('test/kernel/pod.test.ts', '');
});

afterEach(() => rmSync(tree, { recursive: true }));

function write(path: string, text: string): void {
  mkdirSync(join(tree, dirname(path)), { recursive: true });
  writeFileSync(join(tree, path), text);
}

const fault = (rest: Partial<Mutant>): Mutant => ({
  name: 'it is two',
  find: 'function first() { return 1; }',
  replace: 'function first() { return 2; }',
  test: 'pod.test.ts',
  ...rest,
});

test('a text is found in whatever file it is, however its lines are broken, with the test that lies nearest', () => {
  expect(new Places(tree).of(fault({}))).toEqual({
    name: 'it is two',
    file: 'src/inputs/kube/pod.ts',
    test: 'src/inputs/kube/pod.slow.test.ts',
    faulty: 'function first() { return 2; }\nfunction second() {\n  return 1;\n}\n',
  });
});

test('a text that occurs twice has its place behind the declaration around it', () => {
  const twice = { find: 'return 1;', replace: 'return 2;' };
  expect(() => new Places(tree).of(fault(twice))).toThrow(
    'in src/inputs/kube/pod.ts, src/inputs/kube/pod.ts: return 1;',
  );
  expect(new Places(tree).of(fault({ ...twice, within: 'function second' })).faulty).toBe(
    'function first() {\n  return 1;\n}\nfunction second() {\n  return 2;\n}\n',
  );
});

test.each<[string, Partial<Mutant>]>([
  ['and it is in nowhere', { find: 'return 3;' }],
  ['it changes nothing', { find: 'function first', replace: 'function first' }],
  ['there is not one test file none.test.ts, but none', { test: 'none.test.ts' }],
])('a fault that cannot be planted is an error: %s', (message, rest) => {
  expect(() => new Places(tree).of(fault(rest))).toThrow(message);
});

test('a test file is named by its folder too, where several lie as near', () => {
  write('src/names.ts', 'const NAMES = 1;');
  const names = { find: 'const NAMES = 1;', replace: 'const NAMES = 2;' };
  expect(() => new Places(tree).of(fault(names))).toThrow(
    'src/inputs/kube/pod.slow.test.ts, src/nft/pod.test.ts',
  );
  expect(new Places(tree).of(fault({ ...names, test: 'kernel/pod.test.ts' })).test).toBe(
    'test/kernel/pod.test.ts',
  );
});
