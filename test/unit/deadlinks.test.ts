/** What documents and comments point at is there. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: ROOT,
  encoding: 'utf8',
});
const files = tracked.split('\n').filter(file => file !== '' && existsSync(join(ROOT, file)));
const documents = files.filter(file => file.endsWith('.md'));
const sources = files.filter(file => /\.(ts|c|go|sh|yaml)$|^scripts\//.test(file));

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

/** `[text](target)`, addresses of other sites and places on the same page left out. */
function linksOf(file: string): string[] {
  const targets = [...read(file).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) =>
    target!.replace(/#.*/, ''),
  );
  return targets.filter(target => target !== '' && !/^[a-z]+:/.test(target));
}

test('every link of a document leads to a file', () => {
  const all = documents.flatMap(file => linksOf(file).map(target => [file, target] as const));
  expect(all.length).toBeGreaterThan(200);
  expect(all.filter(([file, target]) => !existsSync(join(ROOT, dirname(file), target)))).toEqual([]);
});

test('every place on a page that a link names is a heading of it', () => {
  const wrong = documents.flatMap(file =>
    [...read(file).matchAll(/\]\(([^)\s:]*)#([^)\s]+)\)/g)].flatMap(([, target, place]) => {
      const page = target === '' ? file : join(dirname(file), target!);
      return existsSync(join(ROOT, page)) && headingsOf(page).includes(place!)
        ? []
        : [`${file}: ${target}#${place}`];
    }),
  );
  expect(wrong).toEqual([]);
});

/** As GitHub makes anchors of them. */
function headingsOf(file: string): string[] {
  return [...read(file).matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s-]/gu, '')
      .trim()
      .replaceAll(/\s/g, '-'),
  );
}

/** Paths from the root, as comments and documents write them; patterns and placeholders are none. */
const PATH =
  /(?<![\w./@~$}-])(?:docs|src|test|bench|scripts|daemonset|examples|charts)\/[\w./-]*[\w/-](?![\w*{$<…])/g;

function pathsIn(text: string): string[] {
  const ours = text.replaceAll('daemonset/sluice', ''); // as kubectl names the object
  return [...ours.matchAll(PATH)].map(([path]) => path);
}

/** A comment; of YAML and shell, `#` after a space or at the beginning of a line. */
function commentsOf(file: string): string {
  const pattern = /\.(ts|c|go)$/.test(file) ? /\/\*[\s\S]*?\*\/|\/\/.*$/gm : /(?:^|\s)#.*$/gm;
  return [...read(file).matchAll(pattern)].join('\n');
}

test('every path in a comment or in a document is there', () => {
  const named = [
    ...sources.flatMap(file => pathsIn(commentsOf(file)).map(path => `${file}: ${path}`)),
    ...documents.flatMap(file => pathsIn(read(file)).map(path => `${file}: ${path}`)),
  ];
  expect(named.length).toBeGreaterThan(200);
  expect(named.filter(text => !isThere(text.split(': ')[1]!))).toEqual([]);
});

/** Also a decision by its number, a scenario by its name, and what a test run leaves behind. */
function isThere(path: string): boolean {
  if (existsSync(join(ROOT, path)) || existsSync(join(ROOT, 'test/scenarios', path))) return true;
  if (/^test\/(?:(?:cluster|vm)\/)?reports/.test(path)) return true;
  return /^docs\/decisions\/\d{4}$/.test(path) && files.some(file => file.startsWith(`${path}-`));
}

const GUIDES = ['CONTRIBUTING.md', 'docs/architecture.md'];
const FOLDER = /^(?:docs|src|test|bench|scripts|daemonset|examples|charts)\b/;

test('every file and folder that the guides name is there, by its path or beside what the line names before it', () => {
  const spans = GUIDES.flatMap(page =>
    read(page)
      .split('\n')
      .map(line => pathSpansOf(line)),
  );
  expect(spans.flat().length).toBeGreaterThan(100);
  expect(spans.flatMap(missingOf)).toEqual([]);
});

/** Code that is a path from the root, or a file's name. */
function pathSpansOf(line: string): string[] {
  const spans = [...line.matchAll(/`([\w./-]+)`/g)].map(([, span]) => span!);
  return spans.filter(span => FOLDER.test(span) || /\.(?:ts|c|sh|mjs|json|yaml|md)$/.test(span));
}

function missingOf(spans: readonly string[]): string[] {
  const folders = ['.'];
  return spans.filter(span => {
    const found = folders.map(folder => join(folder, span)).find(path => existsSync(join(ROOT, path)));
    if (found !== undefined) folders.push(/\.\w+$/.test(found) ? dirname(found) : found);
    return found === undefined;
  });
}
