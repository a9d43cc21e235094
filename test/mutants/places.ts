/**
 * Where a planted fault is made: in the one file of src, of the page, or of the fake kernel, that has its text, wherever that file lies and however the text
 * is broken into lines. So files may move, and lines change, and no fault has to be touched.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import type { Mutant } from './mutants.ts';

export interface Place {
  /** What the fault is, in words. */
  readonly name: string;
  readonly file: string;
  /** The test file that has to notice. */
  readonly test: string;
  /** The file with the fault in it. */
  readonly faulty: string;
}

/** The kernel of unit tests, which has to refuse what a real one does. */
const KERNEL = `test${sep}support${sep}kernel${sep}`;

/** The tree in which faults are planted. */
export class Places {
  readonly #sources: readonly (readonly [file: string, text: string])[];
  readonly #tests: readonly string[];

  constructor(root: string) {
    const files = globSync('{src,web,test}/**/*.{ts,tsx}', { cwd: root }).sort();
    const isSource = (file: string) =>
      [`src${sep}`, `web${sep}`, KERNEL].some(folder => file.startsWith(folder));
    this.#tests = files.filter(file => file.endsWith('.test.ts'));
    this.#sources = files
      .filter(file => isSource(file) && !file.endsWith('.test.ts'))
      .map(file => [file, readFileSync(join(root, file), 'utf8')]);
  }

  /** Throws where the text is nowhere, or in several places. */
  of({ name, find, within, replace, test }: Mutant): Place {
    const found = this.#sources.flatMap(([file, text]) =>
      placesIn(text, find, within).map(([from, to]) => ({ file, text, from, to })),
    );
    const [only] = found;
    if (only === undefined || found.length > 1) {
      const where = found.map(({ file }) => file).join(', ') || 'nowhere';
      throw new Error(`"${name}": one place must have this text, and it is in ${where}: ${find}`);
    }
    const { file, text, from, to } = only;
    const faulty = text.slice(0, from) + replace + text.slice(to);
    if (faulty === text) throw new Error(`"${name}": it changes nothing in ${file}`);
    return { name, file, test: this.#testOf(name, test, file), faulty };
  }

  /** The one test file whose path ends so, be it among the slow ones or not; of several, the one that lies nearest to the file with the fault. */
  #testOf(name: string, test: string, file: string): string {
    const named = this.#tests.filter(path =>
      `${sep}${path.replace('.slow.', '.')}`.endsWith(`${sep}${test}`),
    );
    const nearest = Math.max(...named.map(path => sharedFolders(path, file)));
    const [only, ...others] = named.filter(path => sharedFolders(path, file) === nearest);
    if (only === undefined || others.length > 0)
      throw new Error(`"${name}": there is not one test file ${test}, but ${named.join(', ') || 'none'}`);
    return only;
  }
}

/** Where `find` begins and ends: everywhere, or where it comes first behind each text `within`. */
function placesIn(
  text: string,
  find: string,
  within?: string,
): readonly (readonly [from: number, to: number])[] {
  const all = [...text.matchAll(patternOf(find))].map(
    ({ index, 0: { length } }) => [index, index + length] as const,
  );
  if (within === undefined) return all;
  const begins = [...text.matchAll(patternOf(within))].map(({ index }) => index);
  return begins.map(begin => all.find(([from]) => from >= begin)).filter(place => place !== undefined);
}

/** The text with any white space wherever it has some. */
function patternOf(text: string): RegExp {
  const parts = text.trim().split(/\s+/);
  return new RegExp(parts.map(part => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('\\s+'), 'g');
}

function sharedFolders(a: string, b: string): number {
  const [those, these] = [dirname(a), dirname(b)].map(folder => folder.split(sep));
  const differs = those!.findIndex((folder, depth) => folder !== these![depth]);
  return differs < 0 ? those!.length : differs;
}
