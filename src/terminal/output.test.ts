import { PassThrough } from 'node:stream';
import { afterEach, expect, test, vi } from 'vitest';
import { outputColumns, outputTaken, terminalWidth } from './output.ts';

test('outputTaken() waits for a reader who is slower than what is written', async () => {
  const stream = new PassThrough({ highWaterMark: 10 });
  const pipe = stream as unknown as NodeJS.WriteStream;
  await outputTaken(pipe);
  stream.write('x'.repeat(100));
  let isTaken = false;
  const taking = outputTaken(pipe).then(() => {
    isTaken = true;
  });
  await new Promise(resolve => setImmediate(resolve));
  expect(isTaken).toBe(false);
  stream.resume();
  await taking;
});

test('outputTaken() waits for no reader who is gone', async () => {
  const stream = new PassThrough({ highWaterMark: 10 });
  stream.write('x'.repeat(100));
  const taking = outputTaken(stream as unknown as NodeJS.WriteStream);
  stream.destroy();
  await taking;
});

afterEach(() => {
  for (const key of ['isTTY', 'columns'] as const) Object.assign(process.stdout, { [key]: own[key] });
  vi.unstubAllEnvs();
});

const own = { isTTY: process.stdout.isTTY, columns: process.stdout.columns };

test.each([
  ['100', true, 120, 100],
  ['100', false, undefined, 100],
  ['0', false, undefined, 80],
  ['wide', true, 120, 120],
])(
  'terminalWidth() where COLUMNS is %s, of a terminal (%s) of %s columns, is %s',
  (said, isTTY, columns, expected) => {
    vi.stubEnv('COLUMNS', said);
    Object.assign(process.stdout, { isTTY, columns });
    expect(terminalWidth()).toBe(expected);
  },
);

test.each([
  [true, 120, 120],
  [true, 0, 80],
  [true, undefined, 80],
  [false, undefined, undefined],
])('outputColumns() of a terminal (%s) that reports %s columns is %s', (isTTY, columns, expected) => {
  vi.stubEnv('COLUMNS', '');
  Object.assign(process.stdout, { isTTY, columns });
  expect(outputColumns()).toBe(expected);
});
