/** Faults are planted one after another into one tree, whose vitest stays: no fault stays with it. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Place } from '../mutants/places.ts';
import { Tree } from '../mutants/tree.ts';

let folder: string;
let tree: Tree;
let bound: AbortController;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-tree-'));
  symlinkSync(join(import.meta.dirname, '../../node_modules'), join(folder, 'node_modules'));
  write('vitest.config.ts', 'export default { test: { include: ["test/*.test.ts"] } };');
  write('src/one.ts', ONE);
  write(
    'test/one.test.ts',
    "import { expect, test } from 'vitest';\nimport { one } from '../src/one.ts';\ntest('one is one', () => expect(one()).toBe(1));\n",
  );
  bound = new AbortController();
  tree = new Tree(folder, () => bound.signal);
});

afterAll(() => {
  tree.end();
  rmSync(folder, { recursive: true });
});

function write(path: string, text: string): void {
  mkdirSync(join(folder, dirname(path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

const ONE = 'export const one = () => 1;\n';
const TEST = 'test/one.test.ts';
const fault = (faulty: string): Place => ({ name: 'a fault', file: 'src/one.ts', test: TEST, faulty });

test('a fault is noticed by the test that fails, and the next run has nothing of it', async () => {
  expect(await tree.plant(fault('export const one = () => 2;\n'))).toBe('one is one');
  expect(await tree.firstFailure(TEST)).toBeUndefined();
  expect(await tree.plant(fault('export const one = () => 1 + 0;\n'))).toBeUndefined();
});

test.each([
  ['that cannot be read', 'export const one = (', 'Expected'],
  ['that throws as it is loaded', "throw new Error('of the fault');\nexport const one = 1;", 'of the fault'],
  ['that ends the process', 'export const one = () => process.kill(process.pid, "SIGKILL");', 'Worker'],
])('a fault %s proves nothing, and the next run passes', async (_, faulty, message) => {
  await expect(tree.plant(fault(faulty))).rejects.toThrow(message);
  expect(await tree.firstFailure(TEST)).toBeUndefined();
});

test('a fault that hangs is ended at its bound, and the next run passes', async () => {
  const reached = join(folder, 'reached');
  const hangs = `import { writeFileSync } from 'node:fs';
export const one = () => { writeFileSync(${JSON.stringify(reached)}, ''); for (;;); };`;
  watch(folder, () => existsSync(reached) && bound.abort());
  await expect(tree.plant(fault(hangs))).rejects.toThrow('no answer');
  bound = new AbortController();
  expect(await tree.firstFailure(TEST)).toBeUndefined();
});

test('of a test file that is not there nothing passes', async () => {
  await expect(tree.firstFailure('test/other.test.ts')).rejects.toThrow('not found');
});
