/** The kustomizations below a folder, and which of its files they are made of. */
import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { filesNamedBy, type NamedFiles } from '../files/kustomization.ts';

/** One that no other one is made of. */
export interface Kustomization {
  readonly folder: string;
  /** What it and those that it is made of name: files that are not to be read beside what it comes to. */
  readonly files: ReadonlySet<string>;
}

export class Kustomizations {
  readonly #files: string[] = [];
  readonly #named = new Map<string, NamedFiles>();

  /** All names in a folder that was found. */
  addFolder(folder: string, names: ReadonlySet<string>): void {
    for (const name of names) if (NAME.test(name)) this.#files.push(join(folder, name));
  }

  /** Reads what was found. */
  async read(): Promise<void> {
    for (const file of this.#files) this.#named.set(dirname(file), filesNamedBy(await textOf(file)));
  }

  /** The files that they apply to objects, and none has as objects. What is outside its folder is not its own. */
  patches(): ReadonlySet<string> {
    const [found, objects] = [new Set<string>(), new Set<string>()];
    for (const [folder, { patches, resources }] of this.#named) {
      for (const patch of patches) if (!join(patch).startsWith('..')) found.add(pathIn(folder, patch));
      for (const resource of resources) objects.add(pathIn(folder, resource));
    }
    return new Set([...found].filter(path => !objects.has(path)));
  }

  /** Those to build: of a circle one, for which `kustomize build` says that it is one. */
  built(): readonly Kustomization[] {
    const parts = new Set([...this.#named.keys()].flatMap(folder => this.#partsOf(folder)));
    const isBuilt = (folder: string) => this.#named.get(folder)!.isBuilt;
    const first = [...this.#named.keys()].filter(folder => isBuilt(folder) && !parts.has(folder));
    const found = first.map(folder => this.#whole(folder));
    const seen = new Set(found.flatMap(({ folders }) => [...folders]));
    for (const folder of this.#named.keys()) {
      if (seen.has(folder) || !isBuilt(folder)) continue;
      const circle = this.#whole(folder);
      found.push(circle);
      for (const each of circle.folders) seen.add(each);
    }
    return found;
  }

  #partsOf(folder: string): readonly string[] {
    const { resources } = this.#named.get(folder)!;
    return resources.map(resource => pathIn(folder, resource)).filter(each => this.#named.has(each));
  }

  #whole(folder: string): Kustomization & { readonly folders: ReadonlySet<string> } {
    const folders = new Set([folder]);
    // What is added to a Set while it is iterated is visited too.
    for (const each of folders) for (const part of this.#partsOf(each)) folders.add(part);
    const files = [...folders].flatMap(each => {
      const { resources, patches } = this.#named.get(each)!;
      return [...resources, ...patches].map(path => pathIn(each, path));
    });
    return { folder, folders, files: new Set(files) };
  }
}

/** Folders are often written with a slash behind them. */
function pathIn(folder: string, path: string): string {
  return join(folder, path).replace(/(?<=.)\/$/, '');
}

const NAME = /^(?:kustomization\.ya?ml|Kustomization)$/;

/** Nobody writes so much by hand. */
const LARGEST = 1024 * 1024;

/** Empty where it is too large, or cannot be read: then nothing is left out because of it. */
export async function textOf(path: string): Promise<string> {
  const kind = await stat(path).catch(() => undefined);
  if (!kind?.isFile() || kind.size > LARGEST) return '';
  return readFile(path, 'utf8').catch(() => '');
}
