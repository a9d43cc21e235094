import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { placeInSafeFolder, safePlace } from './namespacefolder.ts';

const NAME = 'sluice-0123456789abcdef01234567';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-netns-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

test('a folder that is not there is made, and the place in it is the one that was asked for', () => {
  const place = join(folder, 'run/netns', NAME);
  expect(placeInSafeFolder(place)).toBe(place);
  expect(existsSync(join(folder, 'run/netns'))).toBe(true);
  writeFileSync(place, '');
  expect(safePlace(place)).toBe(place);
});

test('a link of the system on the way is followed once, to the place behind it', () => {
  mkdirSync(join(folder, 'run'));
  symlinkSync('run', join(folder, 'var'));
  expect(safePlace(join(folder, 'var', NAME))).toBe(join(folder, 'run', NAME));
});

test('a link where the namespace should be is refused, wherever it leads', () => {
  writeFileSync(join(folder, 'other'), 'keep');
  for (const target of [join(folder, 'other'), '/proc/self/ns/net', join(folder, 'nowhere')]) {
    symlinkSync(target, join(folder, NAME));
    expect(() => safePlace(join(folder, NAME))).toThrow('is not a plain file');
    rmSync(join(folder, NAME));
  }
});

test('a folder that others may write is refused, sticky or not, and so is one below it', () => {
  const shared = join(folder, 'shared');
  mkdirSync(join(shared, 'below'), { recursive: true });
  for (const mode of [0o777, 0o775, 0o1777]) {
    chmodSync(shared, mode);
    expect(() => safePlace(join(shared, NAME)), mode.toString(8)).toThrow('may be written by others');
  }
  chmodSync(shared, 0o777);
  expect(() => safePlace(join(shared, 'below', NAME))).toThrow(`folder ${shared} may be written by others`);
  chmodSync(shared, 0o1777);
  expect(safePlace(join(shared, 'below', NAME))).toBe(join(shared, 'below', NAME));
});
