/** The page as it is built: small, without anything that its security policy would have to permit, and safe to print. */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { type BuiltPage, buildPage } from '../../scripts/page.ts';
import { pageWith, textsOf } from '../../src/cli/page.ts';
import { isPrintable } from '../../src/terminal/printable.ts';

let files: BuiltPage['files'];
beforeAll(async () => {
  ({ files } = await buildPage());
}, 60_000);

const zipped = (name: string) => gzipSync(files.get(name)!, { level: 9 }).length;
const named = (pattern: RegExp) => [...files.keys()].filter(name => pattern.test(name));

const MOST_FIRST = 180_000;
const MOST_EDITOR = 150_000;

/** A chunk, and those that it cannot begin without. */
function loadedWith(name: string, found = new Set<string>()): ReadonlySet<string> {
  found.add(name);
  for (const [, next] of files.get(name)!.matchAll(/(?:\bfrom|^import|;import)"\.\/([\w-]+\.js)"/g))
    if (!found.has(next!)) loadedWith(next!, found);
  return found;
}

test('the first load and the editor are within their bounds', () => {
  const editor = named(/^editor-.*\.js$/);
  expect(editor).toHaveLength(1);
  const first = [...loadedWith('app.js'), ...named(/\.css$|^index\.html$/)];
  const size = first.reduce((sum, name) => sum + zipped(name), 0);
  console.log(`    first load ${size}, editor ${zipped(editor[0]!)} bytes gzipped`);
  expect(size).toBeLessThan(MOST_FIRST);
  expect(zipped(editor[0]!)).toBeLessThan(MOST_EDITOR);
  for (const part of ['edit', 'focus', 'policies', 'list', 'changes', 'bundled_examplefiles']) {
    const chunks = named(new RegExp(`^${part}-[\\w-]{8}\\.js$`));
    expect(chunks).toHaveLength(1);
    expect(first).not.toContain(chunks[0]);
  }
});

const policyOf = (page: string) => /content-security-policy" content="([^"]*)"/.exec(page)?.[1] ?? '';

test('the hosted page has no inline script or style, and permits no connection', () => {
  const page = files.get('index.html')!;
  expect(page).not.toMatch(/<style|style=|<script(?! type="module" src="app\.js"><\/script>)|\son\w+=/);
  expect(policyOf(page)).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; worker-src blob:; img-src data:; connect-src 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types sluice",
  );
});

const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

test('the one file permits its own script and style by their hashes, and nothing else', () => {
  const page = files.get('sluice.html')!;
  const [, script = ''] = /<script>([\s\S]*?)<\/script>/.exec(page) ?? [];
  const [, style = ''] = /<style>([\s\S]*?)<\/style>/.exec(page) ?? [];
  expect(policyOf(page)).toContain(`script-src ${hash(script)}; style-src ${hash(style)};`);
  expect(policyOf(page)).not.toMatch(/unsafe|'self'/);
});

test('a terminal may show the one file, so that a command can print it as it is', () => {
  const lines = files.get('sluice.html')!.split('\n');
  expect(lines.filter(line => !isPrintable(line)).map(line => line.slice(0, 80))).toEqual([]);
});

test('manifests in the one file are data, whatever is in them', () => {
  const hostile = '</script><script>alert(1)</script><!-- $& \u202e \x1b[2J';
  const page = pageWith(files.get('sluice.html')!, [[`${hostile}.yaml`, hostile]]);
  const [, data = ''] = /id="manifests">([^<]*)<\/script>/.exec(page) ?? [];
  expect(JSON.parse(data)).toEqual([[`${hostile}.yaml`, hostile]]);
  expect(isPrintable(data)).toBe(true);
});

test('every library in the page has the text of its licence beside it', () => {
  const notices = files.get('notices.txt')!;
  for (const name of ['preact', '@preact/signals', '@codemirror/view', 'yaml', 'js-yaml', 'ipaddr.js'])
    expect(notices).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(`, 'm'));
  expect(files.get('sluice.html')).toContain('id="notices"');
});

test('the one file says neither where its manifests were, nor what is in Secrets', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-page-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const name of ['a/k8s', 'b/k8s']) {
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(
      join(folder, name, 'all.yaml'),
      `apiVersion: v1\nkind: Pod\nmetadata: { name: ${name[0]} }\n---\napiVersion: v1\nkind: Secret\nmetadata: {}\nstringData: { key: hidden }\n`,
    );
  }
  const texts = await textsOf([join(folder, 'a/k8s'), join(folder, 'b/k8s'), join(folder, 'a/k8s/all.yaml')]);
  expect(texts.map(([name]) => name)).toEqual(['k8s/all.yaml', '2/k8s/all.yaml', 'all.yaml']);
  expect(JSON.stringify(texts)).not.toContain('hidden');
});
