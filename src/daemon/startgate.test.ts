import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startsOf } from './startgate.ts';

let folder: string;
let nriSocket: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-starts-'));
  nriSocket = join(folder, 'nri.sock');
  writeFileSync(nriSocket, '');
});
afterAll(() => rmSync(folder, { recursive: true }));

const decided = (options: object) => {
  const { gate, unknownPods } = startsOf({ node: 'n1', ...options });
  return [gate.on, unknownPods];
};

test('the gate is on where the runtime offers it, and unknown pods are denied where it is on', () => {
  expect(decided({ nriSocket })).toEqual([true, 'deny']);
  expect(decided({ nriSocket: join(folder, 'none.sock') })).toEqual([false, 'allow']);
  expect(decided({ nriSocket, manifests: 'examples/shop' })).toEqual([false, 'allow']);
});

test('who asks has what was asked for', () => {
  expect(decided({ nriSocket, startGate: 'off' })).toEqual([false, 'allow']);
  expect(decided({ startGate: 'nri', manifests: 'examples/shop' })).toEqual([true, 'deny']);
  expect(decided({ nriSocket, unknownPods: 'allow' })).toEqual([true, 'allow']);
  expect(decided({ startGate: 'off', unknownPods: 'deny' })).toEqual([false, 'deny']);
  expect(decided({ startGate: 'off', podNetwork: 'attach' })).toEqual([false, 'deny']);
});
