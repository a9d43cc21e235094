/** Makes every text of an answer printable: names in manifests may contain anything. */
import { printable } from '../../src/terminal/printable.ts';

/** Keys, too. What is under `verbatim` stays as it is. */
export function printableData(value: unknown): unknown {
  if (typeof value === 'string') return printable(value);
  if (Array.isArray(value)) return value.map(printableData);
  if (value === null || typeof value !== 'object' || ArrayBuffer.isView(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) =>
      key === 'verbatim' ? [key, each] : [printable(key), printableData(each)],
    ),
  );
}
