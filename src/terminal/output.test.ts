import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { outputTaken } from './output.ts';

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
