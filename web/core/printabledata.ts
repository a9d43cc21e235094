/** Makes every text of an answer printable: names in manifests may contain anything. */
import { printable } from '../../src/terminal/printable.ts';

/** What is to be saved as it is. It is a class, because a label of a manifest may have any name, `verbatim` too. */
export class Verbatim<T> {
  readonly verbatim: T;

  constructor(verbatim: T) {
    this.verbatim = verbatim;
  }
}

/** Keys, too. */
export function printableData(value: unknown): unknown {
  if (typeof value === 'string') return printable(value);
  if (Array.isArray(value)) return value.map(printableData);
  if (value === null || typeof value !== 'object' || ArrayBuffer.isView(value)) return value;
  if (value instanceof Verbatim) return { verbatim: value.verbatim };
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [printable(key), printableData(each)]),
  );
}
