/**
 * Reads an object that has not been validated. Every value knows its path in the object and the effect if it cannot be
 * read, so each problem names place, fault and effect. Nothing here throws.
 */

import { didYouMean } from '../../../lib/text/didyoumean.ts';
import { type Budget, tooManyEntries } from '../../../model/budget.ts';
import type { Unknown } from '../../../model/policy.ts';
import type { Problem } from '../../../model/problem.ts';

export const UNKNOWN: Unknown = { kind: 'unknown' };

/** The problems of one object, and where they are collected. */
export interface Report {
  readonly object?: string;
  readonly problems: Problem[];
  errors: number;
}

/** The most problems of one object: more would cost memory without use. */
const MOST_PROBLEMS = 200;

export class Field {
  readonly value: unknown;
  readonly path: string;
  readonly #effect: string;
  readonly #report: Report;

  constructor(value: unknown, path: string, effect: string, report: Report) {
    this.value = value;
    this.path = path;
    this.#effect = effect;
    this.#report = report;
  }

  /** null is absent, as the API server reads it. */
  get isPresent(): boolean {
    return this.value !== undefined && this.value !== null;
  }

  /** The field of that name, absent where this is no map. */
  get(key: string): Field {
    const value = isMap(this.value) && Object.hasOwn(this.value, key) ? this.value[key] : undefined;
    const path = this.path === '' ? key : `${this.path}.${key}`;
    return new Field(value, path, this.#effect, this.#report);
  }

  /** The same field, for a reader that gives a bad value another effect. */
  withEffect(effect: string): Field {
    return new Field(this.value, this.path, effect, this.#report);
  }

  error(message: string): void {
    this.#add('error', message, this.#effect);
  }

  /** Without a code it is accepted as `object`. */
  warning(message: string, effect: string, more?: Pick<Problem, 'code' | 'fix'>): void {
    this.#add('warning', message, effect, more);
  }

  /**
   * The result of `read` on this part of a policy, or unknown if `read` reported an error: `failClosed` gives an
   * unknown part its meaning, so a value that was read in spite of an error can never allow traffic.
   */
  part<T>(effect: string, read: (field: Field) => T): T | Unknown {
    const { value, clean } = this.attempt(effect, read);
    return clean ? value : UNKNOWN;
  }

  /** The result of `read` on this field, and whether it had no error. */
  attempt<T>(effect: string, read: (field: Field) => T): { value: T; clean: boolean } {
    const before = this.#report.errors;
    const value = read(this.withEffect(effect));
    return { value, clean: this.#report.errors === before };
  }

  /** Like `attempt`, for a part that shares the effect of the whole. */
  sameEffect<T>(read: (field: Field) => T): { value: T; clean: boolean } {
    return this.attempt(this.#effect, read);
  }

  /**
   * Whether this is a map with only these keys; otherwise reports an error, because an unknown key may change the
   * meaning of others (C51).
   */
  expectMap(keys: readonly string[]): boolean {
    const check = () => this.requireMap() && this.#checkKeys(Object.keys(this.value as object), keys);
    return this.attempt(this.#effect, check).clean;
  }

  /** Whether this is a map, with any keys; if not, reports an error. */
  requireMap(): boolean {
    if (!this.isPresent) this.error('is missing');
    else if (!isMap(this.value)) this.error(`must be a map, not ${describe(this.value)}`);
    return isMap(this.value);
  }

  /** The one key of these that a map has; none, another or two are an error. null is no value (C17). */
  onlyKey<K extends string>(keys: readonly K[]): K | undefined {
    if (!this.expectMap(keys)) return undefined;
    const [key, ...others] = keys.filter(key => this.get(key).isPresent);
    const words = keys.join(' or ');
    if (key === undefined) this.error(`must have ${words}`);
    if (others.length > 0) this.error(`must have only one of ${words}`);
    return key;
  }

  /** The items of a list; none where it is absent or no list. */
  items(): readonly Field[] {
    const items: Field[] = [];
    if (Array.isArray(this.value))
      for (const [index, item] of this.value.entries())
        items.push(new Field(item, `${this.path}[${index}]`, this.#effect, this.#report));
    else if (this.isPresent) this.error(`must be a list, not ${describe(this.value)}`);
    return items;
  }

  /** The keys of a map; none where it is absent or no map. */
  keys(): readonly string[] {
    if (!this.isPresent) return [];
    if (isMap(this.value)) return Object.keys(this.value);
    this.error(`must be a map, not ${describe(this.value)}`);
    return [];
  }

  /** The entries of a map of text, such as labels; a null value is empty text, as the API server reads it. */
  textEntries(): readonly (readonly [key: string, value: string])[] {
    const entries: [string, string][] = [];
    for (const key of this.keys()) entries.push([key, this.get(key).text() ?? '']);
    return entries;
  }

  text(): string | undefined {
    return this.#ofType('string', 'text');
  }

  requiredText(): string | undefined {
    if (!this.isPresent) this.error('is missing');
    return this.text();
  }

  boolean(): boolean | undefined {
    return this.#ofType('boolean', 'true or false');
  }

  integer(min: number, max: number): number | undefined {
    if (!this.isPresent) return undefined;
    const { value } = this;
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
    this.error(`must be a number from ${min} to ${max}, not ${describe(value)}`);
    return undefined;
  }

  requiredInteger(min: number, max: number): number | undefined {
    if (!this.isPresent) this.error('is missing');
    return this.integer(min, max);
  }

  oneOf<T extends string>(words: readonly T[]): T | undefined {
    if (!this.isPresent) return undefined;
    const word = words.find(word => word === this.value);
    if (word === undefined) this.error(`must be ${words.join(' or ')}, not ${describe(this.value)}`);
    return word;
  }

  /** The result of `parse` on a text; if it returns undefined, reports that the text is not a `noun`. */
  parsed<T>(noun: string, parse: (text: string) => T | undefined): T | undefined {
    const text = this.requiredText();
    if (text === undefined) return undefined;
    const value = parse(text);
    if (value === undefined) this.error(`${describe(text)} is not ${noun}`);
    return value;
  }

  #ofType<T extends 'string' | 'boolean'>(type: T, noun: string): TypeNamed[T] | undefined {
    if (!this.isPresent) return undefined;
    if (typeof this.value === type) return this.value as TypeNamed[T];
    const isWord = type === 'string' && typeof this.value !== 'object';
    this.error(`must be ${noun}, not ${describe(this.value)}${isWord ? inQuotes(this.value) : ''}`);
    return undefined;
  }

  #checkKeys(found: readonly string[], known: readonly string[]): void {
    for (const key of found) if (!known.includes(key)) this.#unknownKey(key, known);
  }

  #unknownKey(key: string, keys: readonly string[]): void {
    const meant = didYouMean(key, keys);
    this.get(key).error(`is not a known field${meant === undefined ? '' : ` (did you mean ${meant}?)`}`);
  }

  #add(
    severity: Problem['severity'],
    message: string,
    effect: string,
    more?: Pick<Problem, 'code' | 'fix'>,
  ): void {
    const { object, problems } = this.#report;
    const where = {
      ...more,
      ...(object !== undefined && { object }),
      ...(this.path !== '' && { field: this.path }),
    };
    if (severity === 'error') this.#report.errors++;
    if (problems.length < MOST_PROBLEMS) problems.push({ severity, ...where, message, effect });
    else if (problems.length === MOST_PROBLEMS)
      problems.push({ severity, ...where, message: `${message}, and there are more problems`, effect });
  }
}

/** Whoever wrote `y` finds no `true` in the file. */
function inQuotes(value: unknown): string {
  const words = value === true ? 'y, yes and on' : 'n, no and off';
  return `: put it in quotes${typeof value === 'boolean' ? ` (YAML also reads ${words} as ${value})` : ''}`;
}

interface TypeNamed {
  readonly string: string;
  readonly boolean: boolean;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const SHOWN_LENGTH = 80;

/** A value in a message: scalars as they are, the rest by its shape, never more than a line. */
export function describe(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (isMap(value)) return 'a map';
  if (typeof value !== 'string') return String(value);
  return JSON.stringify(value.length > SHOWN_LENGTH ? `${value.slice(0, SHOWN_LENGTH)}…` : value);
}

/**
 * The problem of a spec that has more entries than a policy may have; found by counting, without decoding any entry.
 */
export function sizeProblem(spec: Field, budget: Budget): string | undefined {
  const left = ['ingress', 'egress'].reduce(
    (room, key) => countDown(spec.get(key).value, room, MOST_LEVELS),
    budget.entries,
  );
  return left < 0 ? tooManyEntries(undefined, budget) : undefined;
}

/** Whether a selector has more requirements and values than that; found without reading any of them. */
export function isLargerThan(selector: Field, most: number): boolean {
  return countDown(selector.value, most, MOST_LEVELS) < 0;
}

/** Levels from a list of rules down to the values of a requirement. */
const MOST_LEVELS = 12;

/**
 * What is left of `room` after one is subtracted for each item of each list and each label; stops when it is below
 * zero.
 */
function countDown(value: unknown, room: number, levels: number, areLabels = false): number {
  if (typeof value !== 'object' || value === null || levels === 0) return room;
  const isCounted = areLabels || Array.isArray(value);
  let left = room;
  for (const key of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    if (isCounted && --left < 0) return left;
    left = countDown((value as Record<PropertyKey, unknown>)[key], left, levels - 1, key === 'matchLabels');
  }
  return left;
}
