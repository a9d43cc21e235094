import { type Document, isNode, LineCounter, parseAllDocuments, Schema, type Tags } from 'yaml';
import { errorText } from '../../lib/text/errortext.ts';
import { parsePlain } from './plainyaml.ts';

/** One document of a file. */
export interface ParsedDocument {
  readonly value: unknown;
  /** The line of the value of `spec.ingress[0]`, or where the didYouMean part around it does. */
  lineOf(path: string): number | undefined;
}

export class ParseError extends Error {
  override readonly name = 'ParseError';
  readonly line: number | undefined;

  constructor(message: string, line?: number) {
    super(message);
    this.line = line;
  }
}

/** The documents of a YAML text as kubectl reads them, with an error for each that cannot be read. */
export function parseYaml(text: string): readonly (ParsedDocument | ParseError)[] {
  const plain = parsePlain(text);
  if (plain === undefined) return parseAnyYaml(text);
  // Positions are needed only for problems, so for most files the slow parser never runs.
  let whole: ReturnType<typeof parseAnyYaml> | undefined;
  const documentAt = (index: number) => {
    whole ??= parseAnyYaml(text);
    return whole[index];
  };
  return plain.map((value, index) => ({ value, lineOf: path => lineIn(documentAt(index), path) }));
}

function lineIn(document: ParsedDocument | ParseError | undefined, path: string): number | undefined {
  return document instanceof ParseError ? undefined : document?.lineOf(path);
}

/** Parses any YAML; where `parsePlain` can read a text, both give the same. */
export function parseAnyYaml(text: string): readonly (ParsedDocument | ParseError)[] {
  const lineCounter = new LineCounter();
  const documents = orError(() => parseAllDocuments(text, { ...OPTIONS, lineCounter }));
  if (documents instanceof ParseError) return [documents];
  const parsed = [...documents].map(document => orError(() => toParsed(document, lineCounter)));
  return parsed.filter(each => each instanceof ParseError || each.value !== null);
}

function orError<T>(read: () => T): T | ParseError {
  try {
    return read();
  } catch (error) {
    return error instanceof ParseError ? error : new ParseError(reason(error));
  }
}

/** The parser gives up by throwing where aliases would take all memory. */
function reason(error: unknown): string {
  return inWords(errorText(error));
}

// YAML 1.1, where `yes` is true and 010 is eight; but creationTimestamp stays text, and so does 22:22.
const UNREAD_TAGS = ['timestamp', 'binary', 'omap', 'pairs', 'set'].map(name => `tag:yaml.org,2002:${name}`);

const OPTIONS = {
  version: '1.1',
  logLevel: 'silent',
  // Only the first mistake is reported: to write the lines around each of many would take minutes.
  prettyErrors: false,
  // One for all documents: making it takes longer than parsing a pod.
  schema: new Schema({ schema: 'yaml-1.1', merge: true, customTags: readTags }),
} as const;

function readTags(tags: Tags): Tags {
  return tags.filter(
    tag =>
      typeof tag === 'string' ||
      !(UNREAD_TAGS.includes(tag.tag) || ('format' in tag && tag.format === 'TIME')),
  );
}

function toParsed(document: Document, lines: LineCounter): ParsedDocument {
  const problem = document.errors[0] ?? document.warnings[0];
  if (problem !== undefined)
    throw new ParseError(inWords(problem.message), lines.linePos(problem.pos[0]).line);
  return {
    value: document.toJS({ maxAliasCount: MOST_ALIASES }),
    lineOf: path => lineOf(document, lines, path),
  };
}

// A few aliases that name each other's lists are gigabytes when written out.
const MOST_ALIASES = 100;

function inWords(message: string): string {
  if (message.startsWith('Maximum call stack size exceeded')) return 'is nested too deeply';
  return message.split('\n')[0]!;
}

function lineOf(document: Document, lines: LineCounter, path: string): number | undefined {
  const steps = path.split(/[.[\]]+/).filter(step => step !== '');
  for (let length = steps.length; length >= 0; length--) {
    const node = document.getIn(steps.slice(0, length), true);
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
  }
  return undefined;
}
