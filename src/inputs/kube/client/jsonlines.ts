import { ApiError, parsed } from './api.ts';
import { type Shape, Skimmer } from './skim.ts';

const NEWLINE = 0x0a;
/** A longer line is read by its parts: nearly all are a hundredth of it. */
const LONG_LINE = 262_144;
/** The event, the object in it. */
const LEVELS = 2;

/** The values of the whole lines of each chunk as it arrives. A body that ends within a line was cut, and throws. */
export async function* jsonLines(
  body: AsyncIterable<Uint8Array>,
  shape: Shape,
): AsyncGenerator<readonly unknown[]> {
  const reader = new LineReader(shape);
  for await (const chunk of body) {
    const values = reader.push(chunk);
    if (values.length > 0) yield values;
  }
  reader.end();
}

class LineReader {
  readonly #shape: Shape;
  /** The beginning of a line. */
  #rest: Uint8Array[] = [];
  #restSize = 0;
  /** Keeps the needed fields of a long line. */
  #skimmer: Skimmer | undefined;

  constructor(shape: Shape) {
    this.#shape = shape;
  }

  push(chunk: Uint8Array): readonly unknown[] {
    if (this.#skimmer === undefined) return this.#takeLines(chunk);
    const end = this.#skimmer.push(chunk);
    if (!this.#skimmer.isDone) return [];
    const value = this.#skimmer.value();
    this.#skimmer = undefined;
    return [value, ...this.#takeLines(chunk.subarray(end))];
  }

  end(): void {
    if (this.#restSize > 0 || this.#skimmer !== undefined)
      throw new ApiError('cut', 'the answer ends in the middle of an object');
  }

  #takeLines(chunk: Uint8Array): readonly unknown[] {
    const end = chunk.lastIndexOf(NEWLINE) + 1;
    // Bytes are joined before they are decoded: a character may be cut in two.
    const whole = end === 0 ? '' : Buffer.concat([...this.#rest, chunk.subarray(0, end)]).toString('utf8');
    if (end > 0) this.#clear();
    if (end < chunk.length) this.#rest.push(chunk.subarray(end));
    this.#restSize += chunk.length - end;
    if (this.#restSize > LONG_LINE) this.#skim();
    const values: unknown[] = [];
    for (const line of whole.split('\n')) if (line.trim() !== '') values.push(parsed(line));
    return values;
  }

  #clear(): void {
    this.#rest = [];
    this.#restSize = 0;
  }

  #skim(): void {
    this.#skimmer = new Skimmer(this.#shape, LEVELS);
    for (const piece of this.#rest) this.#skimmer.push(piece);
    this.#clear();
  }
}
