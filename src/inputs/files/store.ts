import { getOrMake } from '../../lib/collections/getormake.ts';
import type { ClusterEvent } from '../../model/cluster.ts';
import { NamespaceBudget } from '../../model/namespacebudget.ts';
import type { Problem } from '../../model/problem.ts';
import type { Decoded } from '../kube/decode/decode.ts';
import { isError, type Manifest } from './manifest.ts';

/** The last good contents of a file, and its present problems. */
interface StoredFile {
  /** Keys are as `NetworkPolicy shop/web`; of two in one file the first is kept. */
  readonly objects: ReadonlyMap<string, ClusterEvent>;
  readonly problems: readonly Problem[];
}

/** An object of a file that a file before has too. */
export interface Overridden {
  readonly file: string;
  readonly object: string;
  /** The file whose object counts. */
  readonly owner: string;
  /** Both mean the same. */
  readonly isSame: boolean;
}

/**
 * The objects of a set of files, and what changed about them since the last flush. What a file or an object
 * held while it could be read stays in force until it can be read again or is gone (last good state).
 *
 * An object that several files hold is the one of the first file by name; the next takes over when it goes.
 */
export class ManifestStore {
  readonly #files = new Map<string, StoredFile>();
  readonly #budget = new NamespaceBudget();
  /** The events that were published last, by object. */
  #published = new Map<string, ClusterEvent>();
  /** No file has changed since. */
  #isFlushed = true;
  #problems: readonly Problem[] | undefined;
  readonly #isMistake: (overridden: Overridden) => boolean;

  /** Whether it is a mistake that a file before has an object too: in one cluster it is, wherever the files are. */
  constructor(isMistake: (overridden: Overridden) => boolean = () => true) {
    this.#isMistake = isMistake;
  }

  put(file: string, manifest: Manifest): void {
    const before: StoredFile['objects'] = this.#files.get(file)?.objects ?? new Map();
    const says = manifest.objects;
    const objects = says === undefined || says.length === 0 ? before : lastGood(says, before);
    const problems = [...manifest.problems, ...repeated(says ?? [], file)];
    if (says?.length === 0 && before.size > 0) problems.push(emptied(file));
    this.#files.set(file, { objects, problems });
    this.#changed();
  }

  delete(file: string): void {
    if (this.#files.delete(file)) this.#changed();
  }

  get files(): readonly string[] {
    return [...this.#files.keys()].toSorted();
  }

  /** The events that lead from the last flush to now. */
  flush(): readonly ClusterEvent[] {
    if (this.#isFlushed) return [];
    this.#isFlushed = true;
    const now = this.#effective();
    const gone = [...this.#published]
      .filter(([key]) => !now.has(key))
      .map(([, { type, key }]) => ({ type, key }));
    const changed = [...now].filter(([key, event]) => !isSame(this.#published.get(key), event));
    this.#published = now;
    this.#problems = undefined;
    return this.#budget.pass([...(gone as ClusterEvent[]), ...changed.map(([, event]) => event)]);
  }

  /** Everything that is wrong now, file by file; the same array as before where nothing has changed. */
  problems(): readonly Problem[] {
    this.#problems ??= this.#findProblems();
    return this.#problems;
  }

  #changed(): void {
    this.#isFlushed = false;
    this.#problems = undefined;
  }

  #findProblems(): readonly Problem[] {
    const all = this.files.flatMap(file => this.#files.get(file)!.problems);
    const mistakes = this.overridden().filter(this.#isMistake);
    const overridden = mistakes.map(({ file, object, owner }) =>
      duplicate(file, object, `is in ${owner} too`),
    );
    return [...all, ...overridden, ...this.#budget.problems()];
  }

  #effective(): Map<string, ClusterEvent> {
    const objects = new Map<string, ClusterEvent>();
    for (const file of this.files)
      for (const [key, event] of this.#files.get(file)!.objects)
        if (!objects.has(key)) objects.set(key, event);
    return objects;
  }

  overridden(): readonly Overridden[] {
    const owners = new Map<string, { readonly owner: string; readonly first: ClusterEvent }>();
    return this.files.flatMap(file =>
      [...this.#files.get(file)!.objects].flatMap(([object, event]) => {
        const { owner, first } = getOrMake(owners, object, () => ({ owner: file, first: event }));
        return owner === file ? [] : [{ file, object, owner, isSame: isSame(first, event) }];
      }),
    );
  }
}

/**
 * A file that is being rewritten may be empty for a moment, so it does not count as deleted; to delete its objects,
 * delete the file.
 */
function emptied(file: string): Problem {
  const effect = 'its objects stay as they were until the file has content again, or is deleted';
  return { severity: 'error', file, message: 'is empty, and held objects before', effect };
}

/**
 * The objects that can be read, and the last readable version of those that cannot. While something in the file cannot
 * be read, it may be any of the objects that the file no longer names: they all stay.
 */
function lastGood(
  decoded: readonly Decoded[],
  before: ReadonlyMap<string, ClusterEvent>,
): Map<string, ClusterEvent> {
  const objects = new Map<string, ClusterEvent>();
  for (const { object, event = before.get(object ?? '') } of decoded)
    if (object !== undefined && event !== undefined && !objects.has(object)) objects.set(object, event);
  const unread = decoded.some(({ event, problems }) => event === undefined && problems.some(isError));
  if (unread) for (const [object, event] of before) if (!objects.has(object)) objects.set(object, event);
  return objects;
}

function repeated(decoded: readonly Decoded[], file: string): readonly Problem[] {
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const { object } of decoded) if (object !== undefined) (seen.has(object) ? twice : seen).add(object);
  return [...twice].map(object => duplicate(file, object, 'is in this file more than once'));
}

function duplicate(file: string, object: string, message: string): Problem {
  return { severity: 'error', file, object, message, effect: 'the first one counts' };
}

/** Objects are plain data that one decoder made: equal text is equal meaning. */
function isSame(before: ClusterEvent | undefined, now: ClusterEvent): boolean {
  return before === now || (before !== undefined && JSON.stringify(before) === JSON.stringify(now));
}
