/**
 * `node scripts/sizes.ts`: how long files and functions of src are, in lines, without tests; how many files of ours a file
 * imports; and the longest functions. A function is one with a name: declared, a method, or an arrow function that is kept
 * under one.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';

const SRC = join(import.meta.dirname, '../src');
const SHOWN = Number(process.env.SHOWN ?? 12);
const OWN_IMPORT = /(?:^(?:import|export)\s(?:[^;'"`]*?\bfrom\s*)?|\bimport\s*\(\s*)'\.[^']+\.ts'/gm;

export interface Size {
  readonly lines: number;
  readonly name: string;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly id?: { readonly name?: string } | null;
  readonly key?: { readonly name?: string };
  readonly init?: Node | null;
}

const texts = globSync('**/*.ts', { cwd: SRC })
  .filter(file => !/\.test\.ts$/.test(file))
  .map(file => ({ file, text: readFileSync(join(SRC, file), 'utf8') }));

export const fileSizes: readonly Size[] = texts.map(({ file, text }) => ({
  lines: linesOf(text) - 1,
  name: file,
}));

const imports = texts.flatMap(({ text }) => [...text.matchAll(OWN_IMPORT)]).length;
const lines = fileSizes.reduce((sum, each) => sum + each.lines, 0);

/** Imports of our own files, a file on average: `import`, `export … from` and `import()`, types too. */
export const importsPerFile = imports / texts.length;

/** The same to 100 lines: fewer as files that belong together become one, where the average of a file rises. */
export const importsPer100Lines = (imports * 100) / lines;

export function functionSizes(): readonly Size[] {
  return texts.flatMap(({ file, text }) => functionsIn(file, text));
}

/** The lines that so large a share of them does not exceed. */
export function percentile(sizes: readonly Size[], share: number): number {
  const { lines } = longestFirst(sizes)[Math.floor(sizes.length * (1 - share))]!;
  return lines;
}

if (import.meta.main) {
  const functions = functionSizes();
  print('files', fileSizes);
  print('functions', functions);
  console.log(`${importsPerFile.toFixed(2)} files of ours that a file imports`);
  console.log(`${importsPer100Lines.toFixed(2)} of them to 100 lines`);
  for (const { lines, name } of longestFirst(functions).slice(0, SHOWN)) console.log(`${lines}  ${name}`);
}

function print(what: string, sizes: readonly Size[]): void {
  const [median, p95] = [percentile(sizes, 0.5), percentile(sizes, 0.95)];
  console.log(
    `${sizes.length} ${what}: median ${median}, p95 ${p95}, longest ${longestFirst(sizes)[0]!.lines}`,
  );
}

function functionsIn(file: string, text: string): Size[] {
  const found: Size[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const item of value) visit(item);
    if (typeof value !== 'object' || value === null || !('type' in value)) return;
    const node = value as Node;
    const name = nameOf(node);
    if (name !== undefined)
      found.push({ lines: linesOf(text.slice(node.start, node.end)), name: `${file} ${name}` });
    for (const child of Object.values(value)) visit(child);
  };
  visit(parseAst(text, { lang: 'ts' }).body);
  return found;
}

function nameOf({ type, id, key, init }: Node): string | undefined {
  if (type === 'FunctionDeclaration') return id?.name;
  if (type === 'MethodDefinition') return key?.name;
  return type === 'VariableDeclarator' && init?.type === 'ArrowFunctionExpression' ? id?.name : undefined;
}

function longestFirst(sizes: readonly Size[]): Size[] {
  return sizes.toSorted((a, b) => b.lines - a.lines);
}

function linesOf(text: string): number {
  return text.split('\n').length;
}
