/**
 * Builds the page (web/) into dist/page:
 *   index.html, page.css, app.js and others     static files for any web server
 *   sluice.html                                 the same as one file, which opens from a folder
 *   notices.txt                                 the licences of the libraries in it
 * Both have their security policy in a <meta>: no connection to anywhere, and no script but those of the build. In the one
 * file the script is inline, and the policy permits it by its hash. Prints the sizes.
 */
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type Plugin, rolldown } from 'rolldown';
import { printableJsonText } from '../src/terminal/printable.ts';
import { licenceTexts } from './thirdparty.ts';

const ROOT = join(import.meta.dirname, '..');
const WEB = join(ROOT, 'web');

export interface BuiltPage {
  /** Contents by file name. */
  readonly files: ReadonlyMap<string, string>;
}

export async function buildPage(): Promise<BuiltPage> {
  const packages = new Set<string>();
  const plugins = [bundled({ worker: await workerSource(packages), examples: examples() })];
  const [chunks, [single]] = await Promise.all([
    bundle(plugins, 'es', packages),
    bundle(plugins, 'iife', packages),
  ]);
  const css = stylesheet();
  const files = new Map(chunks.map(({ name, code }) => [name, code]));
  files.set('page.css', css);
  files.set('index.html', staticPage());
  const notices = noticesOf(packages);
  files.set('notices.txt', notices);
  files.set('sluice.html', singlePage(single!.code, css, notices));
  return { files };
}

interface Chunk {
  readonly name: string;
  readonly code: string;
}

/**
 * js-yaml makes schemas and patterns as it starts, most of them for a writer that the page does not use. Nothing happens
 * where they are made, so that those that nobody uses can be left out.
 */
const withoutUnused: Plugin = {
  name: 'without-unused',
  transform: (code, id) =>
    id.endsWith('/js-yaml.mjs')
      ? code.replaceAll(/^(var [\w$]+ = )(?=new |define\w+Tag\(|\w+\.withTags\()/gm, '$1/* @__PURE__ */ ')
      : undefined,
};

const COMMON = {
  platform: 'browser',
  logLevel: 'warn',
  treeshake: { propertyReadSideEffects: false },
  transform: { target: 'es2023', jsx: { runtime: 'automatic', importSource: 'preact' } },
  tsconfig: false,
} as const;

/** As chunks, or as one script without modules: a page that is opened from a folder can load none. */
async function bundle(plugins: Plugin[], format: 'es' | 'iife', packages: Set<string>): Promise<Chunk[]> {
  const build = await rolldown({ ...COMMON, input: { app: join(WEB, 'main.tsx') }, plugins });
  const { output } = await build.generate({
    format,
    minify: true,
    comments: false, // the licences are in notices.txt
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    // One chunk of all that is there from the beginning: each part that is loaded later shares other modules with it.
    codeSplitting: format === 'es' && { groups: [{ name: 'app', tags: ['$initial'] }] },
  });
  for (const each of output) if (each.type === 'chunk') notePackages(each.moduleIds, packages);
  return output.flatMap(each =>
    each.type === 'chunk' ? [{ name: each.fileName, code: printableCode(each.code) }] : [],
  );
}

async function workerSource(packages: Set<string>): Promise<string> {
  const build = await rolldown({ ...COMMON, plugins: [withoutUnused], input: join(WEB, 'core/worker.ts') });
  const { output } = await build.generate({
    format: 'iife',
    minify: true,
    comments: false,
    codeSplitting: false,
  });
  notePackages(output[0].moduleIds, packages);
  return output[0].code;
}

/**
 * A terminal and an editor may show it: invisible characters are in texts and in regular expressions alone, where their
 * numbers mean the same.
 */
function printableCode(code: string): string {
  return code.split('\n').map(printableJsonText).join('\n');
}

/** The packages that modules of a bundle are of, by their folders. */
function notePackages(modules: readonly string[], packages: Set<string>): void {
  for (const id of modules) {
    const [folder] = /node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id) ?? [];
    if (folder !== undefined) packages.add(folder);
  }
}

/** Licences permit to pass a package on with their text. */
function noticesOf(packages: ReadonlySet<string>): string {
  const sections = [...packages].sort().map(path => {
    const { name, version, license } = JSON.parse(readFileSync(join(ROOT, path, 'package.json'), 'utf8'));
    const texts = licenceTexts(ROOT, { path, name, version, licence: license });
    if (texts.length === 0) throw new Error(`${name} has no text of its licence`);
    return [`${name} ${version} (${license})`, ...texts].join('\n\n');
  });
  return `${sections.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

/** The modules of web/bundled.d.ts. */
function bundled({
  worker,
  examples,
}: {
  readonly worker: string;
  readonly examples: readonly Example[];
}): Plugin {
  const modules: Readonly<Record<string, string>> = {
    'bundled:worker': `export const source = ${JSON.stringify(worker)};`,
    'bundled:examples': `export const examples = ${JSON.stringify(examples.map(({ id, title }) => ({ id, title })))};`,
    'bundled:examplefiles': `export const files = new Map(JSON.parse(${JSON.stringify(JSON.stringify(examples.map(({ id, files }) => [id, files])))}));`,
  };
  return {
    name: 'bundled',
    resolveId: source => (source in modules ? source : undefined),
    load: id => modules[id],
  };
}

interface Example {
  readonly id: string;
  readonly title: string;
  readonly files: readonly (readonly [name: string, text: string])[];
}

/** The shop, and the stories of administrators, each with the sentence that its README has of it. */
function examples(): readonly Example[] {
  const stories = readFileSync(join(ROOT, 'examples/user-stories/README.md'), 'utf8');
  const folders = readdirSync(join(ROOT, 'examples/user-stories'), { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .map(({ name }) => ({
      folder: `user-stories/${name}`,
      id: name.replace(/^\d+-/, ''),
      title: new RegExp(`\`${name}\` *\\| (.*?) *\\|`).exec(stories)?.[1] ?? '',
    }));
  const shop = { folder: 'shop', id: 'shop', title: 'a shop in several namespaces, with all three APIs' };
  return [shop, ...folders].map(({ folder, id, title }) => ({ id, title, files: manifestsOf(folder) }));
}

function manifestsOf(folder: string): readonly (readonly [string, string])[] {
  return globSync('*.yaml', { cwd: join(ROOT, 'examples', folder) })
    .sort()
    .map(name => [name, readFileSync(join(ROOT, 'examples', folder, name), 'utf8')] as const);
}

/** The order of the layers is that of the file that names them; what is in a layer counts before what is in one above it. */
function stylesheet(): string {
  const names = [
    'page',
    ...globSync('*.css', { cwd: join(WEB, 'styles') })
      .map(name => name.replace('.css', ''))
      .sort(),
  ];
  const texts = [...new Set(names)].map(name => readFileSync(join(WEB, 'styles', `${name}.css`), 'utf8'));
  return texts
    .join('')
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/\s*\n\s*/g, '\n')
    .trim();
}

/** Nothing but what is named is permitted. The worker starts from a blob, which has the policy of the page. */
function policy(script: string, style: string): string {
  return [
    "default-src 'none'",
    `script-src ${script}`,
    `style-src ${style}`,
    'worker-src blob:',
    'img-src data:',
    "connect-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types sluice',
  ].join('; ');
}

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 20 20'%3E%3Cpath d='M2 2h16M4 2v16M16 2v16' fill='none' stroke='%23667' stroke-width='2'/%3E%3Cpath d='M6.5 5h7v7h-7z' fill='%232f54c8'/%3E%3C/svg%3E";

function head(security: string): string {
  return `<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="${security}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>Sluice: who reaches whom</title>
<link rel="icon" href="${ICON}">`;
}

const BODY =
  '<div id="app"></div><noscript>This page judges network policies in your browser, and needs JavaScript for it.</noscript>';

function staticPage(): string {
  return `<!doctype html>
<html lang="en">
<head>
${head(policy("'self'", "'self'"))}
<link rel="stylesheet" href="page.css">
<script type="module" src="app.js"></script>
</head>
<body>${BODY}</body>
</html>
`;
}

/** The place of manifests is empty here: \`sluice matrix -o page\` writes them there. A block of data is no script. */
function singlePage(code: string, css: string, notices: string): string {
  const script = `\n${code.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--')}\n`;
  const style = `\n${css}\n`;
  return `<!doctype html>
<html lang="en">
<head>
${head(policy(hash(script), hash(style)))}
<style>${style}</style>
</head>
<body>${BODY}
<script type="application/json" id="manifests"></script>
<script>${script}</script>
<script type="text/plain" id="notices">
${notices.replaceAll('<', '&lt;')}</script>
</body>
</html>
`;
}

function hash(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

if (import.meta.main) {
  const out = process.argv[2] ?? join(ROOT, 'dist/page');
  const { files } = await buildPage();
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  for (const [name, text] of files) {
    writeFileSync(join(out, name), text);
    console.log(`${name.padEnd(24)} ${text.length} bytes, ${gzipSync(text, { level: 9 }).length} gzipped`);
  }
}
