/** The values of a line, each as it must be. */
import { type Address, parseAddress } from '../../model/address.ts';
import type { Labels } from '../../model/labels.ts';

export class LineError extends Error {
  override readonly name = 'LineError';
}

export type Values = Readonly<Record<string, unknown>>;

const LONGEST_TEXT = 1_000;

export function mapOf(value: unknown, what: string): Values {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Values;
  throw new LineError(`${what} is no map`);
}

export function textOf(value: unknown, what: string, longest = LONGEST_TEXT): string {
  if (typeof value === 'string' && value.length <= longest) return value;
  throw new LineError(`${what} is no text of at most ${longest} characters`);
}

export function listOf(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new LineError(`${what} is no list`);
}

export function textsOf(value: unknown, what: string): readonly string[] {
  return listOf(value, what).map(each => textOf(each, what));
}

export function numberOf(value: unknown, what: string, most = Number.MAX_SAFE_INTEGER): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most) return value;
  throw new LineError(`${what} is no number from 0 to ${most}`);
}

export function wordOf<T extends string>(value: unknown, words: readonly T[], what: string): T {
  const word = words.find(each => each === value);
  if (word !== undefined) return word;
  throw new LineError(`${what} is none of ${words.join(', ')}`);
}

export function addressOf(value: unknown, what: string): Address {
  const address = parseAddress(textOf(value, what));
  if (address !== undefined) return address;
  throw new LineError(`${what} is no address`);
}

/** Own properties alone: a label may be called `__proto__`. */
export function labelsOf(value: unknown, what: string): Labels {
  const entries = Object.entries(mapOf(value, what));
  return Object.fromEntries(entries.map(([key, label]) => [key, textOf(label, `${what}.${key}`)]));
}

export function partialOf({ partial }: Values): { readonly partial?: true } {
  return partial === true ? { partial } : {};
}
