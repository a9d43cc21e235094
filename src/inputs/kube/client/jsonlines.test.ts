import { expect, test } from 'vitest';
import { jsonLines } from './jsonlines.ts';

const SHAPE = { type: 'all', object: { name: 'all', spec: { '*': 'all' } } } as const;

async function valuesOf(
  ...chunks: readonly (string | Uint8Array)[]
): Promise<readonly (readonly unknown[])[]> {
  const batches: (readonly unknown[])[] = [];
  for await (const batch of jsonLines(bodyOf(chunks), SHAPE)) batches.push(batch);
  return batches;
}

async function* bodyOf(chunks: readonly (string | Uint8Array)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk);
}

test('jsonLines() gives the values of the whole lines of each chunk at once', async () => {
  expect(await valuesOf('1\n2\n', '3', '4\n\n5', '6\n')).toEqual([[1, 2], [34], [56]]);
});

test('jsonLines() puts a character together that two chunks share', async () => {
  const bytes = Buffer.from('"ü"\n');
  expect(await valuesOf(bytes.subarray(0, 2), bytes.subarray(2))).toEqual([['ü']]);
});

test('jsonLines() throws where a body ends within a line, a long one too', async () => {
  await expect(valuesOf('1\n', '{"type":')).rejects.toMatchObject({ code: 'cut' });
  await expect(valuesOf('1\n', `{"type":"${'x'.repeat(500_000)}`)).rejects.toMatchObject({ code: 'cut' });
});

test('jsonLines() throws where a line is no JSON', async () => {
  await expect(valuesOf('<html>\n')).rejects.toMatchObject({ code: 'garbled' });
});

test('jsonLines() keeps of a long line what is wanted of it, and reads the lines around it as they are', async () => {
  const small = { type: 'ADDED', object: { name: 'a', other: 1 } };
  const large = { type: 'ADDED', object: { name: 'b', other: 'x'.repeat(3_000_000), spec: { c: [1] } } };
  const text = [small, large, small].map(value => `${JSON.stringify(value)}\n`).join('');
  const wanted = [small, { type: 'ADDED', object: { name: 'b', spec: { c: [1] } } }, small];
  for (const size of [1_000, 65_536, 262_143]) {
    const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, i) =>
      text.slice(i * size, (i + 1) * size),
    );
    expect((await valuesOf(...pieces)).flat()).toEqual(wanted);
  }
});
