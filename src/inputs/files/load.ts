/**
 * Manifests as a cluster: text in, objects and problems out. Whoever has the texts adds them one by one: `sluice` reads
 * files (src/cli/sources/manifests.ts), and a page in a browser has them already.
 */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { groupedBy } from '../../lib/collections/groupedby.ts';
import type { Cidr } from '../../model/address.ts';
import { withEnforced } from '../../model/audited.ts';
import { type Cluster, ClusterState } from '../../model/cluster.ts';
import { type Inventory, inventoryOf } from '../../model/inventory.ts';
import { POLICY_KINDS } from '../../model/policy.ts';
import { type Problem, problemText } from '../../model/problem.ts';
import { type FiledObject, isError, type Manifest, readAllDocuments, readNeeded } from './manifest.ts';
import { isRendered } from './rendered.ts';
import { ManifestStore } from './store.ts';
import { type FolderTally, type Overlap, ReadingCounter, type ReadingTally } from './tally.ts';

export interface LoadedCluster {
  readonly cluster: ClusterState;
  readonly inventory: Inventory;
  readonly problems: readonly Problem[];
  /** Whether a file or a policy could not be read at all, so that it is missing in the cluster. */
  readonly hidesPolicies: boolean;
  readonly reading: ReadingTally;
  /** The place of an object such as `Deployment shop/web`, or of a field of it. */
  readonly placeOf: (object: string, field?: string) => Pick<Problem, 'file' | 'line'>;
}

/** Finds problems of a cluster as a whole; `serviceNetworks` are those from which Services get their addresses. */
export type Lint = (
  cluster: Cluster,
  inventory: Inventory,
  serviceNetworks: readonly Cidr[],
) => readonly Problem[];

export interface ManifestOptions {
  /** The namespace of objects that name none. */
  readonly namespace?: string | undefined;
  /** Is given each text that is read. */
  readonly onText?: ((text: string) => void) | undefined;
  /** Reads the documents of a file also if one of them cannot be parsed, for their problems. */
  readonly allDocuments?: boolean;
}

/** Collects the objects of several files as one cluster. Each file is read once, so there are no earlier versions. */
export class ManifestCollector {
  readonly #read: (text: string, file: string, namespace?: string) => Manifest;
  readonly #namespace: string | undefined;
  readonly #onText: ManifestOptions['onText'];
  readonly #store = new ManifestStore(({ file, owner }) => folderOf(file) === folderOf(owner));
  readonly #cluster = new ClusterState();
  readonly #objects: FiledObject[] = [];
  #byName: ReadonlyMap<string, readonly FiledObject[]> | undefined;
  readonly #reading = new ReadingCounter();
  #hidesPolicies = false;

  constructor({ namespace, allDocuments = false, onText }: ManifestOptions = {}) {
    this.#read = allDocuments ? readAllDocuments : readNeeded;
    this.#namespace = namespace;
    this.#onText = onText;
  }

  /** Reads the text of a file, without adding it. */
  readonly read = (text: string, file: string): Manifest => {
    this.#onText?.(text);
    return this.#read(text, file, this.#namespace);
  };

  /** Adds the contents of a file, or the reason why it could not be read. */
  put(file: string, manifest: Manifest): void {
    this.#store.put(file, manifest);
    this.#reading.addFile(file, manifest.tally);
    for (const object of manifest.objects ?? []) this.#objects.push(object);
    this.#hidesPolicies ||= manifest.isCut ?? false;
    this.#hidesPolicies ||= manifest.objects?.some(isLostPolicy) ?? true;
  }

  /** Adds what was left out of a folder by its name. */
  leftOut(tally: FolderTally): void {
    this.#reading.addFolder(tally);
  }

  loaded(): LoadedCluster {
    const cluster = this.#cluster;
    for (const event of this.#store.flush()) cluster.apply(event);
    const items = this.#objects.map(({ inventory }) => inventory());
    const problems = [...this.#store.problems(), ...items.flatMap(({ problems }) => problems)];
    return {
      cluster,
      inventory: inventoryOf(items.flatMap(({ item }) => item ?? [])),
      problems: problems.map(problem => this.#placed(readOnce(problem))),
      hidesPolicies: this.#hidesPolicies,
      reading: { ...this.#reading.tally(), overlaps: this.#overlaps() },
      placeOf: (object, field) => this.#named(object)[0]?.placeOf(field) ?? {},
    };
  }

  /** The same, with the problems of the cluster as a whole. */
  checked(lint: Lint): LoadedCluster {
    const loaded = this.loaded();
    const problems = [...loaded.problems, ...this.#lint(loaded, lint), ...this.#otherEngines()];
    return { ...loaded, problems };
  }

  #lint({ cluster, inventory, problems: read }: LoadedCluster, lint: Lint): readonly Problem[] {
    const services = this.#objects.flatMap(({ serviceNetworks }) => serviceNetworks);
    const now = lint(cluster, inventory, services);
    // Warnings as if audited policies were in force, for their authors, and those for the policies in force now.
    const then = (cluster.audited?.size ?? 0) === 0 ? [] : lint(withEnforced(cluster), inventory, services);
    const known = new Set(now.map(problemText));
    // What could not be read as it is written is closed, and a warning of that is none of what its author wrote.
    const broken = new Set(read.filter(isError).map(({ object }) => object));
    const found = [...now, ...then.filter(problem => !known.has(problemText(problem)))].filter(
      ({ object }) => !broken.has(object),
    );
    return found.map(problem => ({
      ...this.#named(problem.object ?? '')[0]?.placeOf(problem.field),
      ...problem,
    }));
  }

  /**
   * What is wrong with the policies of a namespace together does not come from one file. An object that is there a second
   * time has its line at its last place in the file.
   */
  #placed(problem: Problem): Problem {
    const { file, line, object } = problem;
    if (object === undefined || line !== undefined) return problem;
    const all = this.#named(object);
    const it = file === undefined ? all[0] : all.findLast(each => each.placeOf().file === file);
    return { ...it?.placeOf(problem.field), ...problem };
  }

  /** Objects of several folders, which may be of several clusters. */
  #overlaps(): readonly Overlap[] {
    const found = new Map<string, Overlap & { readonly objects: string[] }>();
    for (const { file, object, owner, isSame } of this.#store.overridden())
      if (!isSame && folderOf(file) !== folderOf(owner))
        getOrMake(found, `${file}\0${owner}`, () => ({ file, owner, objects: [] })).objects.push(object);
    return [...found.values()];
  }

  /** The first of two objects of one name counts. */
  #named(object: string): readonly FiledObject[] {
    this.#byName ??= groupedBy(this.#objects, identityOf);
    return this.#byName.get(object) ?? [];
  }

  /** Sluice does not read them, but their author believes that they are in force. */
  #otherEngines(): readonly Problem[] {
    return this.#objects.flatMap(({ type, name, placeOf, engine }) => {
      if (engine === undefined) return [];
      const object = `${type.kind} ${name}`;
      const field = 'apiVersion';
      const message = `is ${type.apiVersion}, a policy of ${engine}`;
      const effect = 'Sluice does not enforce it, and no answer knows of it';
      return [
        { ...placeOf(field), severity: 'warning', code: 'other-engine', object, field, message, effect },
      ];
    });
  }
}

/** What a program printed is of no folder but its own. */
function folderOf(file: string): string {
  if (isRendered(file)) return file;
  return file.slice(0, Math.max(0, file.lastIndexOf('/')));
}

/** As a problem names the object. */
function identityOf({ object, type: { kind }, name }: FiledObject): string {
  return object ?? `${kind} ${name.includes('/') ? name : `default/${name}`}`;
}

/** Whether the object is a policy whose problems left nothing to judge by. */
function isLostPolicy({ event, problems, type: { kind = '' } }: FiledObject): boolean {
  if (event !== undefined || !problems.some(isError)) return false;
  return POLICY_KINDS.some(each => each.toLowerCase() === kind.toLowerCase());
}

/** Rewords a problem for files that are read only once, where no earlier version stays in force. */
function readOnce(problem: Problem): Problem {
  const effect = problem.effect
    .replace('file ignored; the previous version stays', 'nothing of it is read')
    .replace('; if it was good before, its last good version stays in force', '')
    .replace(/^the (\w+) stays as it was last known$/, 'the $1 is not known');
  return { ...problem, effect };
}
