/**
 * `node scripts/sizes.ts`: how long files and functions of src are, in lines, without tests; and the longest functions.
 * A function is one with a name: declared, a method, or an arrow function that is kept under one.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';

const SRC = join(import.meta.dirname, '../src');
const SHOWN = Number(process.env.SHOWN ?? 12);

interface Size {
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

const files = globSync('**/*.ts', { cwd: SRC }).filter(file => !/\.test\.ts$/.test(file));
const texts = files.map(file => ({ file, text: readFileSync(join(SRC, file), 'utf8') }));
const functions = texts.flatMap(({ file, text }) => functionsIn(file, text));
print(
  'files',
  texts.map(({ file, text }) => ({ lines: linesOf(text) - 1, name: file })),
);
print('functions', functions);
for (const { lines, name } of longestFirst(functions).slice(0, SHOWN)) console.log(`${lines}  ${name}`);

function print(what: string, sizes: readonly Size[]): void {
  const lines = longestFirst(sizes).map(size => size.lines);
  const at = (share: number) => lines[Math.floor(lines.length * (1 - share))]!;
  console.log(`${lines.length} ${what}: median ${at(0.5)}, p95 ${at(0.95)}, longest ${lines[0]}`);
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
