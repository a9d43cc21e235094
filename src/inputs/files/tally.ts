/** What was read of files and folders, and what was left out, and why: an answer from the wrong folder looks like a good one. */
import { firstOf } from '../../lib/text/firstof.ts';
import { plural } from '../../lib/text/plural.ts';
import { shellWord } from '../../lib/text/shellword.ts';

/** Of one file. */
export interface FileTally {
  /** Documents that were read, or should have been. */
  readonly documents: number;
  /** The kind of each object that no answer needs. */
  readonly kinds: readonly string[];
  /** It holds no Kubernetes object. */
  readonly isForeign: boolean;
  /** It is a text that a program makes manifests from. */
  readonly isTemplate: boolean;
}

/** Of folders: what is known by names alone. */
export interface FolderTally {
  /** Charts of Helm, which have to be rendered to be read. */
  readonly charts: readonly string[];
  /** Folders that kustomize should have built, and that are read file by file. */
  readonly kustomizations?: readonly string[];
  /** Files of kustomizations: patches, which change objects and are none. */
  readonly patches: number;
  /** Folders and manifests that a `.gitignore` names, and folders `node_modules`. */
  readonly ignored: number;
  /** Whether a `.gitignore` has more than is looked at: what it names beyond that is read. */
  readonly isIgnoreCut: boolean;
  /** Manifests that are left out for one of these reasons, and mention a policy. */
  readonly policies: readonly string[];
  /** Links to nowhere that are not called as a manifest is. */
  readonly lostLinks: number;
}

/** Objects of a file that a file of another folder has too, with other contents: those count. */
export interface Overlap {
  readonly file: string;
  readonly owner: string;
  readonly objects: readonly string[];
}

/** Of all that was read. */
export interface ReadingTally extends FolderTally {
  readonly files: number;
  readonly documents: number;
  /** How many objects of each kind no answer needs. */
  readonly kinds: ReadonlyMap<string, number>;
  /** Files without a Kubernetes object. */
  readonly foreign: number;
  /** Files that have to be rendered by another program than Helm. */
  readonly templates: readonly string[];
  readonly overlaps: readonly Overlap[];
}

export class ReadingCounter {
  readonly #folders: FolderTally[] = [];
  readonly #kinds = new Map<string, number>();
  readonly #templates: string[] = [];
  readonly #files = new Set<string>();
  #documents = 0;
  #foreign = 0;

  addFile(file: string, tally: FileTally | undefined): void {
    this.#files.add(file);
    if (tally === undefined) return;
    this.#documents += tally.documents;
    for (const kind of tally.kinds) this.#kinds.set(kind, (this.#kinds.get(kind) ?? 0) + 1);
    if (tally.isForeign) this.#foreign++;
    if (tally.isTemplate) this.#templates.push(file);
  }

  addFolder(tally: FolderTally): void {
    this.#folders.push(tally);
  }

  tally(): Omit<ReadingTally, 'overlaps'> {
    const sum = (of: (folder: FolderTally) => number) =>
      this.#folders.reduce((all, each) => all + of(each), 0);
    return {
      files: this.#files.size - this.#foreign - this.#templates.length,
      documents: this.#documents,
      kinds: this.#kinds,
      foreign: this.#foreign,
      templates: this.#templates,
      charts: this.#folders.flatMap(({ charts }) => charts),
      kustomizations: this.#folders.flatMap(({ kustomizations = [] }) => kustomizations),
      patches: sum(({ patches }) => patches),
      ignored: sum(({ ignored }) => ignored),
      isIgnoreCut: this.#folders.some(({ isIgnoreCut }) => isIgnoreCut),
      // One that is also named by itself is read.
      policies: this.#folders.flatMap(({ policies }) => policies).filter(file => !this.#files.has(file)),
      lostLinks: sum(({ lostLinks }) => lostLinks),
    };
  }
}

/** `left out: 83 files without a Kubernetes object, 12 ConfigMaps`, as parts. */
export function leftOutTexts({
  kinds,
  foreign,
  templates,
  patches,
  ignored,
  lostLinks,
}: ReadingTally): string[] {
  const byNumber = [...kinds].toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  return [
    ...byNumber.map(([kind, n]) => plural(n, kind)),
    ...(foreign > 0 ? [`${plural(foreign, 'file')} without a Kubernetes object`] : []),
    ...(templates.length > 0 ? [plural(templates.length, 'template')] : []),
    ...(patches > 0 ? [`${patches} ${patches === 1 ? 'patch' : 'patches'} of kustomizations`] : []),
    ...(ignored > 0 ? [`${plural(ignored, 'path')} that .gitignore names`] : []),
    ...(lostLinks > 0 ? [`${plural(lostLinks, 'link')} to nowhere`] : []),
  ];
}

/** `12 workloads and 3 policies in 20 documents of 9 files; left out: 4 templates`. */
export function readingText(reading: ReadingTally, workloads: number, policies: number): string {
  const { documents, files } = reading;
  const found = `${plural(workloads, 'workload')} and ${plural(policies, 'policy')}`;
  const leftOut = leftOutTexts(reading);
  const rest = leftOut.length === 0 ? '' : `; left out: ${leftOut.join(', ')}`;
  return `read ${found} in ${plural(documents, 'document')} of ${plural(files, 'file')}${rest}`;
}

/** The same for programs. */
export function readingObject({
  kinds,
  files,
  documents,
  overlaps: _,
  isIgnoreCut: __,
  ...leftOut
}: ReadingTally) {
  return { files, documents, leftOut: { ...leftOut, kinds: Object.fromEntries(kinds) } };
}

const MOST_NAMED = 8;

/** What has to be rendered before it can be read, and what several folders have. */
export function readingNotes(reading: ReadingTally): string[] {
  const { charts, kustomizations, templates, overlaps, isIgnoreCut, policies } = reading;
  return [
    ...some(
      charts.map(
        chart =>
          `chart ${chart} is not rendered, and not read: \`helm template ${shellWord(chart)} | sluice check -\` reads it, as check --render does`,
      ),
      'charts that are not rendered',
    ),
    ...some(
      (kustomizations ?? []).map(
        folder => `kustomization ${folder} is not rendered: its files are read as they are`,
      ),
      'kustomizations that are not rendered',
    ),
    ...(templates.length > 0
      ? [`not read, for they are templates that have to be rendered: ${firstOf(templates, MOST_NAMED)}`]
      : []),
    ...(policies.length > 0
      ? [
          `not read, though they have policies, for a .gitignore names them or they are patches of a kustomization: ${firstOf(policies, MOST_NAMED)}`,
        ]
      : []),
    ...(isIgnoreCut
      ? ['a .gitignore has more or longer lines than are looked at: what they name is read']
      : []),
    ...some(overlaps.map(overlapText), 'files with objects that other folders have too'),
  ];
}

/**
 * The same for an answer, where what has to be rendered is one line: `apart` is it, and goes below the answer. Undefined
 * where there is nothing to render.
 */
export function answerNotes(reading: ReadingTally): { readonly notes: string[]; readonly apart?: string } {
  const { charts, templates } = reading;
  const notes = readingNotes({ ...reading, charts: [], templates: [] });
  const names = [
    ...(charts.length > 0 ? [namedText('chart', charts)] : []),
    ...(templates.length > 0 ? [namedText('template', templates)] : []),
  ];
  if (names.length === 0) return { notes };
  return { notes, apart: `not read, because it is not rendered: ${names.join('; ')}` };
}

const MOST_IN_LINE = 2;

function namedText(noun: string, names: readonly string[]): string {
  return `${names.length === 1 ? noun : `${noun}s`} ${firstOf(names, MOST_IN_LINE)}`;
}

function overlapText({ file, owner, objects }: Overlap): string {
  const names = `${firstOf(objects, MOST_OBJECTS)} ${objects.length === 1 ? 'is' : 'are'}`;
  return `${file}: ${names} also in ${owner} with other contents: the one there is used`;
}

const MOST_OBJECTS = 3;

function some(texts: readonly string[], what: string): string[] {
  const more = texts.length - MOST_NAMED;
  return [...texts.slice(0, MOST_NAMED), ...(more > 0 ? [`and ${more} more ${what}`] : [])];
}
