/**
 * In a process of its own, with `--expose-gc`: opens manifests as a page does, types into them, and says what each step
 * costs, in CPU time since the machine has other work to do: `node --expose-gc bench/edited.ts SIZE`.
 */
import { stringify } from 'yaml';
import { EditModel } from '../src/answers/edit/editmodel.ts';
import { type FolderSize, folderObjects } from './manifestfolder.ts';

export interface Typed {
  /** From the texts to the matrix. */
  readonly openMs: number;
  /** From a key to what opens and closes. */
  readonly keysMs: Readonly<Record<KeyKind, readonly number[]>>;
  /** In use after some edits, and after many. */
  readonly mb: readonly [number, number];
}

export interface TypedSize extends FolderSize {
  readonly keys: number;
  readonly edits: number;
}

/** A port, the value of a label in a selector, its key, the length of a network's prefix. */
type KeyKind = 'port' | 'value' | 'label' | 'cidr';

const FILE = 'policies.yaml';

if (import.meta.main) process.stdout.write(JSON.stringify(typed(JSON.parse(process.argv[2]!))));

function typed(size: TypedSize): Typed {
  const files = new Map(
    Object.entries(folderObjects(size)).map(([name, items]) => [
      `${name}.yaml`,
      items.map(item => stringify(item)).join('---\n'),
    ]),
  );
  const model = new EditModel();
  const openMs = costMs(() => {
    model.open(files);
    model.matrix();
  });
  if (size.keys === 0) return { openMs, keysMs: { port: [], value: [], label: [], cidr: [] }, mb: [0, 0] };
  model.diff();
  const keysMs = {
    port: keysMsOf(model, size.keys, / port: (?=\d)/g, i => String(1 + (i % 6))),
    value: keysMsOf(model, size.keys, /app: app-(?=\d)/g, i => String(i % 10)),
    label: keysMsOf(model, size.keys, / tier(?=:)/g, i => 'abcdef'[i % 6]!),
    cidr: keysMsOf(model, size.keys, /cidr: 10\.\d+\.0\.0\/1(?=6)/g, i => String(i % 6), 1),
  };
  return { openMs, keysMs, mb: [mbAfter(model, size.edits / 10), mbAfter(model, size.edits)] };
}

/** Types at places of a pattern one after another, and takes back what was typed before. */
function keysMsOf(
  model: EditModel,
  count: number,
  pattern: RegExp,
  keyOf: (i: number) => string,
  gone = 0,
): number[] {
  const places = [...model.files.base.get(FILE)!.matchAll(pattern)].map(
    match => match.index + match[0].length,
  );
  return Array.from({ length: count }, (_, i) => {
    model.undo();
    const from = places[(i * 37) % places.length]!;
    return costMs(() => {
      model.edit(FILE, [{ from, to: from + gone, insert: keyOf(i) }]);
      model.diff();
    });
  });
}

function mbAfter(model: EditModel, edits: number): number {
  const ports = [...model.files.base.get(FILE)!.matchAll(/ port: (?=\d)/g)];
  for (let i = 0; i < edits; i++) {
    const from = ports[i % ports.length]!.index + 7;
    model.undo();
    model.edit(FILE, [{ from, to: from + 1, insert: String(1 + (i % 6)) + (i % 10) }]);
    model.diff();
  }
  gc!();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

function costMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
