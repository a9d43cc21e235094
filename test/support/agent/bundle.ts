/**
 * The command in one file, made from today's source: to find and read four hundred files takes half of what a process of
 * it costs, and tests start hundreds. It is kept between runs, and made anew when a file of src has changed.
 */
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';

const ROOT = join(import.meta.dirname, '../../..');
const SRC = join(ROOT, 'src');
/** Native code, and what starts threads from files beside it. */
const OUTSIDE = ['koffi', 'pino', 'pino-pretty'];
const digest = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16);

/** Before the first test, so that test files which begin at once do not each make it. */
export default async function setup(): Promise<void> {
  await bundledCommand();
}

/** The path of the file; on an emulated machine (scripts/vm), where to make it takes long, that of the source. */
export async function bundledCommand(): Promise<string> {
  if (process.env.SLUICE_SLOW !== undefined) return join(SRC, 'cli/main.ts');
  const folder = join(ROOT, 'node_modules/.cache/command');
  const file = join(folder, `${digest(ROOT)}.mjs`); // copies of the tree may share node_modules
  const head = `// ${digest(sources())}\n`;
  if (textOf(file).startsWith(head)) return file;
  mkdirSync(folder, { recursive: true });
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, head + (await bundle()));
  renameSync(draft, file);
  return file;
}

/** What it is made of: another text after every change. */
function sources(): string {
  const files = [
    'node_modules/.package-lock.json',
    'test/support/agent/bundle.ts',
    ...globSync('src/**/*.ts', { cwd: ROOT }),
  ];
  return files
    .map(file => [file, statSync(join(ROOT, file))] as const)
    .map(([file, { mtimeMs, size }]) => `${file} ${mtimeMs} ${size}`)
    .join('\n');
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

async function bundle(): Promise<string> {
  const { rolldown } = await import('rolldown');
  const made = await rolldown({
    input: join(SRC, 'cli/main.ts'),
    platform: 'node',
    external: OUTSIDE,
    plugins: [{ name: 'places', transform: (code, id) => inItsPlace(code, id) }],
  });
  const { output } = await made.generate({
    format: 'esm',
    codeSplitting: false,
    charset: 'ascii',
    comments: false,
  });
  await made.close();
  return output[0].code;
}

/** Files beside a source file stay there. */
function inItsPlace(code: string, id: string): string | null {
  if (!code.includes('import.meta.') || !id.startsWith(SRC + sep)) return null;
  return code
    .replaceAll('import.meta.dirname', JSON.stringify(dirname(id)))
    .replaceAll('import.meta.filename', JSON.stringify(id))
    .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href));
}
