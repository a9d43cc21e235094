import { ApiError } from './apierror.ts';

const NEWLINE = 0x0a;

/** The whole lines of each chunk as it arrives. A body that ends within a line was cut, and throws. */
export async function* lineBatches(body: AsyncIterable<Uint8Array>): AsyncGenerator<readonly string[]> {
  let rest: Uint8Array[] = [];
  for await (const chunk of body) {
    const end = chunk.lastIndexOf(NEWLINE) + 1;
    if (end === 0) {
      rest.push(chunk);
      continue;
    }
    // Bytes are joined before they are decoded: a character may be cut in two.
    const text = Buffer.concat([...rest, chunk.subarray(0, end)]).toString('utf8');
    rest = end < chunk.length ? [chunk.subarray(end)] : [];
    yield text.split('\n').filter(line => line !== '');
  }
  if (rest.length > 0) throw new ApiError('cut', 'the answer ends in the middle of an object');
}
