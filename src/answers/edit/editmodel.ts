/**
 * Manifests that are being edited: the base, as they were opened, and now. An answer is the same as that of the command
 * line of the same texts: `diff()` as `sluice diff BASE NOW`, `matrix()` as `sluice matrix NOW`, `problems()` as
 * `sluice check NOW`. It is pure and keeps no timers: whoever has the texts, such as a worker of a page, decides when to
 * ask.
 */

import { type LoadedCluster, ManifestCollector } from '../../inputs/files/load.ts';
import { EditedFile } from '../../inputs/files/manifest.ts';
import { getOrMake } from '../../lib/collections/getormake.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { Problem } from '../../model/problem.ts';
import { lint } from '../lint/lint.ts';
import {
  type Comparison,
  comparisonOf,
  type DiffView,
  diffViewOf,
  type IsMeant,
} from '../reach/diff/diffview.ts';
import { type MatrixView, matrixViewOf } from '../reach/view.ts';

/** By their names, such as `shop/web.yaml`. */
export type Files = ReadonlyMap<string, string>;

/** A part of a text, in UTF-16 units of the text before the edit, and what replaces it. */
export interface TextChange {
  readonly from: number;
  readonly to: number;
  readonly insert: string;
}

export interface EditOptions {
  readonly unknownPods?: UnknownPods;
  /** The namespace of objects that name none. */
  readonly namespace?: string;
}

/** After so many, all is judged anew: sets of ports and selectors that were typed once would stay for good. */
const MOST_COMPARISONS = 1_000;

/** One of the two states, read. */
interface State {
  readonly collector: ManifestCollector;
  readonly loaded: LoadedCluster;
}

export class EditModel {
  readonly #options: EditOptions;
  #files: { readonly base: Files; readonly now: Map<string, string> } = { base: new Map(), now: new Map() };
  #base: State | undefined;
  #now: State | undefined;
  #compared: Comparison | undefined;
  #comparisons = 0;
  readonly #edited = new Map<string, EditedFile>();

  constructor(options: EditOptions = {}) {
    this.#options = options;
  }

  /** The base from now on; nothing is edited yet. */
  open(files: Files): void {
    this.#files = { base: new Map(files), now: new Map(files) };
    this.#base = this.#now = this.#compared = undefined;
    this.#edited.clear();
  }

  /**
   * A whole text; or the parts of one that an editor reports, in their order and apart; or undefined where the file is
   * gone.
   */
  edit(file: string, edit: string | readonly TextChange[] | undefined): void {
    const { now } = this.#files;
    if (edit === undefined) now.delete(file);
    else now.set(file, typeof edit === 'string' ? edit : edited(now.get(file) ?? '', edit));
    this.#now = undefined;
  }

  /** Back to the base: one file, or all. */
  undo(file?: string): void {
    const { base, now } = this.#files;
    if (file === undefined) this.#files = { base, now: new Map(base) };
    else if (base.has(file)) now.set(file, base.get(file)!);
    else now.delete(file);
    this.#now = undefined;
  }

  get files(): { readonly base: Files; readonly now: Files } {
    return this.#files;
  }

  get base(): LoadedCluster {
    this.#base ??= this.#read(this.#files.base);
    return this.#base.loaded;
  }

  get now(): LoadedCluster {
    return this.#state().loaded;
  }

  /** What opens and what closes from the base to now. Where one of them hides policies, nobody can say. */
  diff(isMeant?: IsMeant): DiffView {
    if (this.#comparisons++ % MOST_COMPARISONS === 0) this.#compared = undefined;
    this.#compared = comparisonOf(this.base, this.now, this.#unknownPods, this.#compared);
    return diffViewOf(this.#compared, isMeant);
  }

  matrix(): MatrixView {
    return matrixViewOf(this.now, this.#unknownPods);
  }

  /** The errors and warnings of `sluice check`, with their files and lines. */
  problems(): readonly Problem[] {
    return this.#state().collector.checked(lint).problems;
  }

  get #unknownPods(): UnknownPods {
    return this.#options.unknownPods ?? 'allow';
  }

  #state(): State {
    this.#now ??= this.#read(this.#files.now);
    return this.#now;
  }

  #read(files: Files): State {
    const { namespace } = this.#options;
    const collector = new ManifestCollector({ namespace, allDocuments: true });
    for (const [file, text] of files)
      collector.put(file, getOrMake(this.#edited, file, () => new EditedFile(file, namespace)).read(text));
    for (const file of this.#edited.keys())
      if (!this.#files.base.has(file) && !files.has(file)) this.#edited.delete(file);
    return { collector, loaded: collector.loaded() };
  }
}

function edited(text: string, changes: readonly TextChange[]): string {
  const kept = changes.map(({ from, insert }, i) => text.slice(changes[i - 1]?.to ?? 0, from) + insert);
  return kept.join('') + text.slice(changes.at(-1)?.to ?? 0);
}
