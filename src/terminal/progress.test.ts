import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { AskedApi } from '../../test/support/api/askedapi.ts';
import { readFiles } from '../cli/sources/files.ts';
import { readApi } from '../cli/sources/live.ts';
import { noteWait, startProgress, withProgress } from './progress.ts';

const { isTTY } = process.stderr;
let written: string[];
let nowMs: number;

beforeEach(() => {
  written = [];
  nowMs = 0;
  process.stderr.isTTY = true;
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  vi.spyOn(process.stderr, 'write').mockImplementation(text => {
    written.push(String(text));
    return true;
  });
});

afterEach(() => {
  vi.restoreAllMocks();
  process.stderr.isTTY = isTTY;
});

test('startProgress() is silent for a second, then says how far it is on one line, and takes it away', () => {
  const progress = startProgress();
  progress.show('one');
  nowMs = 999;
  progress.show('two');
  expect(written).toEqual([]);
  nowMs = 1000;
  progress.show('three');
  progress.end();
  progress.end();
  expect(written).toEqual(['\r\x1b[Kthree', '\r\x1b[K']);
});

test('noteWait() says at a terminal, on a line of its own, what a command waits for', () => {
  noteWait('new connections for 10 s');
  process.stderr.isTTY = false;
  noteWait('nobody hears');
  expect(written).toEqual([expect.stringMatching(/^\S*new connections for 10 s\S*\n$/)]);
});

test('startProgress() says nothing where nobody looks: in a pipe and in a file', () => {
  process.stderr.isTTY = false;
  const progress = startProgress();
  nowMs = 5000;
  progress.show('one');
  progress.announce('two');
  progress.end();
  expect(written).toEqual([]);
});

test('withProgress() says what will take long, and ends where it fails', () => {
  const many = { pods: { size: 15_000 }, policies: { size: 1000 } };
  expect(withProgress('judging', { pods: { size: 10 }, policies: { size: 10 } }, () => 7)).toBe(7);
  expect(written).toEqual([]);
  expect(() =>
    withProgress('judging', many, () => {
      throw new Error('no');
    }),
  ).toThrow('no');
  expect(written).toEqual(['\r\x1b[Kjudging: 15000 pods, 1000 policies', '\r\x1b[K']);
});

test('a cluster that is read for longer than a second says which kind, and how many', async () => {
  const objects = [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }];
  const api = new AskedApi(objects);
  const get = api.get.bind(api);
  api.get = path => {
    nowMs += 600;
    return get(path);
  };
  await readApi(api, { workloads: false, services: false, namespaces: [] });
  expect(written).toContain('\r\x1b[Kreading namespaces: 1');
  expect(written.at(-1)).toBe('\r\x1b[K');
});

test('manifests that are read for longer than a second say how many files', async () => {
  vi.mocked(performance.now).mockImplementation(() => {
    nowMs += 600;
    return nowMs;
  });
  await readFiles(['examples/shop']);
  expect(written).toContain('\r\x1b[Kreading manifests: 3 files');
  expect(written.at(-1)).toBe('\r\x1b[K');
});

test('startProgress() is silent on a terminal that knows no control sequence', () => {
  vi.stubEnv('TERM', 'dumb');
  startProgress().announce('reading');
  expect(written).toEqual([]);
  vi.unstubAllEnvs();
});
