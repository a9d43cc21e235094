/**
 * Reads what `recordingLines` wrote, line by line. A file may be cut off, and then says so; it may be forged, and then nothing
 * of it is believed that policy could not have seen.
 */
import type { Namespace, Node, Pod } from '../../model/cluster.ts';
import {
  LineError,
  mapOf,
  numberOf,
  readEnd,
  readFlow,
  readHeader,
  readNamespacePart,
  readNode,
  readSilent,
  type Values,
} from './readparts.ts';
import type { RecordedEnd, RecordedFlow, Recording, SilentPods } from './recording.ts';

/** Recordings never have more; a foreign file must not fill the memory. */
const MOST = { flows: 500_000, ends: 1_000_000, others: 200_000, characters: 400_000_000 };
/** Memory of a value besides its characters, in characters: of many short values that is most of it. */
export const VALUE_CHARACTERS = 48;
export const LONGEST_LINE = 1_000_000;

/** `line 12: flow.from is no end of the lines before`. */
export class RecordingError extends Error {
  override readonly name = 'RecordingError';
}

export class RecordingReader {
  #header: Omit<Recording, 'namespaces' | 'nodes' | 'flows' | 'silent'> | undefined;
  readonly #namespaces = new Map<string, Namespace>();
  readonly #nodes = new Map<string, Node>();
  readonly #silent: SilentPods[] = [];
  readonly #ends: RecordedEnd[] = [];
  readonly #pods = new Map<string, Pod>();
  readonly #flows: RecordedFlow[] = [];
  #line = 0;
  #characters = 0;
  #isComplete = false;
  readonly #mostCharacters: number;

  constructor(mostCharacters = MOST.characters) {
    this.#mostCharacters = mostCharacters;
  }

  /** Lines beyond the most characters are not read: the recording is cut off. Throws RecordingError where the line is none. */
  add(line: string): void {
    this.#line++;
    this.#characters += line.length + VALUE_CHARACTERS * valuesOf(line);
    // Pods of one tenant with labels without measure take the recording's end, and not all of it.
    if (line.trim() === '' || this.isFull) return;
    this.#within(() => {
      const value = lineObject(line);
      if (this.#isComplete) throw new LineError('comes after the end of the recording');
      if (this.#header === undefined) this.#header = readHeader(value);
      else this.#take(value);
    });
  }

  /** Whether the recording is full, so that reading can stop. */
  get isFull(): boolean {
    return this.#characters > this.#mostCharacters;
  }

  /** Whether the recording is at its end: nothing may follow. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Throws RecordingError where there is none. */
  recording(): Recording {
    if (this.#header === undefined)
      throw new RecordingError('is not what `sluice record` writes: it has no first line');
    return {
      ...this.#header,
      namespaces: this.#namespaces,
      nodes: this.#nodes,
      flows: this.#flows,
      silent: this.#silent,
      ...(!this.#isComplete && { isCut: true }),
    };
  }

  #take(value: Readonly<Record<string, unknown>>): void {
    const [key, ...others] = Object.keys(value);
    if (key === undefined || others.length > 0) throw new LineError('must have one key');
    const part = value[key];
    if (key === 'flow') this.#put(this.#flows, readFlow(part, this.#ends), MOST.flows);
    else if (key === 'end') this.#put(this.#ends, readEnd(part, this.#pods), MOST.ends);
    else if (key === 'silent') this.#put(this.#silent, readSilent(part), MOST.others);
    else if (key === 'namespace') this.#name(this.#namespaces, readNamespacePart(part));
    else if (key === 'node') this.#name(this.#nodes, readNode(part));
    else if (key === 'complete') this.#end(part);
    else throw new LineError(`${JSON.stringify(key.slice(0, 40))} is no part of a recording`);
  }

  #end(part: unknown): void {
    const flows = numberOf(mapOf(part, 'complete').flows, 'complete.flows');
    if (flows !== this.#flows.length)
      throw new LineError(`says that there are ${flows} flows, and there are ${this.#flows.length}`);
    this.#isComplete = true;
  }

  #put<T>(list: T[], value: T, most: number): void {
    if (list.length >= most) throw new LineError(`is more than the ${most} that a recording may have`);
    list.push(value);
  }

  #name<T extends { readonly name: string }>(map: Map<string, T>, value: T): void {
    if (map.has(value.name)) throw new LineError('names what a line before has');
    if (map.size >= MOST.others)
      throw new LineError(`is more than the ${MOST.others} that a recording may have`);
    map.set(value.name, value);
  }

  #within(read: () => void): void {
    try {
      read();
    } catch (error) {
      if (!(error instanceof LineError)) throw error;
      throw new RecordingError(`line ${this.#line}: ${error.message}`);
    }
  }
}

/** The number of values of a line except the first; a comma within a text counts as one too many. */
function valuesOf(line: string): number {
  let count = 0;
  for (let at = line.indexOf(','); at !== -1; at = line.indexOf(',', at + 1)) count++;
  return count;
}

// A line of JSON with an unambiguous meaning: a repeated key could be read in two ways.

/** Throws LineError if the line is no object, or repeats a key. */
function lineObject(line: string): Values {
  const value = parsed(line);
  if (!isAsWritten(line, value) && keysIn(line) !== keysOf(value))
    throw new LineError('has a key twice in one object');
  return value;
}

function parsed(line: string): Values {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Values;
  } catch {}
  throw new LineError('is no JSON object');
}

/**
 * Whether the line is as `recordingLines` writes it, as nearly all lines of a file are: then its keys need not be
 * checked.
 */
function isAsWritten(line: string, value: Values): boolean {
  try {
    return JSON.stringify(value) === line;
  } catch {
    return false; // nested too deeply to be written
  }
}

/** All strings, so that none is found within another; a key is followed by a colon. */
const STRING = /"(?:[^"\\]|\\.)*"(\s*:)?/g;

function keysIn(line: string): number {
  let count = 0;
  for (const [, colon] of line.matchAll(STRING)) if (colon !== undefined) count++;
  return count;
}

/** Counts the keys of all objects in the value, however deep. */
function keysOf(value: unknown): number {
  let count = 0;
  const left: unknown[] = [value];
  for (let each = left.pop(); each !== undefined; each = left.pop()) {
    if (typeof each !== 'object' || each === null) continue;
    const own = Object.values(each);
    if (!Array.isArray(each)) count += own.length;
    for (const part of own) left.push(part);
  }
  return count;
}
