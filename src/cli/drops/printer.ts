/** Things that come one by one: a line each for people, an object each for programs. */
import { isData, writeData } from '../../terminal/data.ts';
import { type OutputOptions, outputTaken, writeLine, writeUnwrapped } from '../../terminal/output.ts';

export class Printer {
  readonly #output: OutputOptions['output'];
  #count = 0;

  constructor(output: OutputOptions['output']) {
    this.#output = output;
  }

  get count(): number {
    return this.#count;
  }

  async print(line: () => string, object: () => object): Promise<void> {
    const before = this.#count++;
    if (!isData(this.#output)) writeLine(line());
    else {
      if (this.#output === 'yaml' && before > 0) writeUnwrapped('---\n');
      await writeData(this.#output, [object()]);
    }
    await outputTaken();
  }
}
