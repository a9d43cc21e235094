import { expect, test } from 'vitest';
import { lineBatches } from './lines.ts';

async function batchesOf(
  ...chunks: readonly (string | Uint8Array)[]
): Promise<readonly (readonly string[])[]> {
  const batches: (readonly string[])[] = [];
  for await (const batch of lineBatches(bodyOf(chunks))) batches.push(batch);
  return batches;
}

async function* bodyOf(chunks: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk);
}

test('lineBatches() gives the whole lines of each chunk at once', async () => {
  expect(await batchesOf('a\nb\n', 'c', 'd\n\ne', 'f\n')).toEqual([['a', 'b'], ['cd'], ['ef']]);
});

test('lineBatches() puts a character together that two chunks share', async () => {
  const bytes = Buffer.from('ü\n');
  expect(await batchesOf(bytes.subarray(0, 1), bytes.subarray(1))).toEqual([['ü']]);
});

test('lineBatches() throws where a body ends within a line', async () => {
  await expect(batchesOf('a\n', '{"type":')).rejects.toMatchObject({ code: 'cut' });
});
