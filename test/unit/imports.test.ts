/** Who may import whom (docs/architecture.md): one direction, no cycles, and no IO in the pure parts. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { files, folderOf, imports, loadedBy, ownImports, SRC, webImports } from '../support/importgraph.ts';

/** Folders that a folder may import beside itself; the lower ones first. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  lib: [],
  model: ['lib'],
  terminal: ['lib', 'model'],
  semantics: ['lib', 'model'],
  nft: ['lib', 'model'],
  names: ['lib', 'model'],
  inputs: ['lib', 'model', 'terminal'],
  compiler: ['lib', 'model', 'nft', 'names'],
  kernel: ['lib', 'model', 'nft'],
  observe: ['lib', 'model', 'semantics'],
  answers: ['lib', 'model', 'semantics', 'nft', 'names', 'inputs', 'compiler'],
  agent: ['lib', 'model', 'semantics', 'nft', 'names', 'compiler'],
  network: ['lib', 'model', 'kernel'],
  api: ['lib', 'model', 'terminal', 'nft', 'names', 'compiler', 'kernel', 'observe', 'agent', 'network'],
  daemon: [
    'lib',
    'model',
    'terminal',
    'semantics',
    'nft',
    'names',
    'inputs',
    'compiler',
    'kernel',
    'observe',
    'agent',
    'network',
    'api',
  ],
  cli: [
    'lib',
    'model',
    'terminal',
    'semantics',
    'nft',
    'names',
    'inputs',
    'compiler',
    'kernel',
    'observe',
    'answers',
    'network',
    'api',
    'daemon',
  ],
};

/** Packages and built-ins that the pure parts may use: they compute and touch nothing. */
const PURE_MAY_USE: Record<string, readonly string[]> = {
  'lib/collections': [],
  'lib/fairness': [],
  'lib/text': [],
  model: ['ipaddr.js'],
  semantics: [],
  nft: [],
  names: [],
  compiler: ['node:crypto'],
  observe: [],
  answers: [],
  'inputs/files': ['js-yaml', 'yaml'],
  'inputs/kube/decode': [],
  'api/health': [],
};

/** They make texts, and write none. */
const WEB_MAY_IMPORT = ['terminal/printable.ts', 'terminal/yamltext.ts'];

/** A time that is given may be written as a date. */
const READS_THE_WORLD = /\b(?:process|console|setTimeout|performance)\b[.(]|\bDate\.now\b|\bDate\(\)/;

/** The pure part that a file belongs to, if any. */
function pureFolderOf(file: string): string | undefined {
  return Object.keys(PURE_MAY_USE).find(folder => file.startsWith(`${folder}/`));
}

const isPure = (file: string) => pureFolderOf(file) !== undefined;

test('the test reads the imports of every file', () => {
  expect(files.length).toBeGreaterThan(40);
  expect(ownImports.length).toBeGreaterThan(100);
});

test('every folder is named in the import rule', () => {
  expect(new Set(files.map(folderOf))).toEqual(new Set(Object.keys(MAY_IMPORT)));
});

test('imports point one way: lib <- model <- semantics, nft <- compiler <- agent <- edges', () => {
  const wrong = ownImports.filter(({ from, to }) => {
    const [source, target] = [folderOf(from), folderOf(to)];
    return source !== target && !MAY_IMPORT[source]?.includes(target);
  });
  expect(wrong).toEqual([]);
});

test('the pure parts use no clock, no logger, no environment and no IO', () => {
  const wrong = imports.filter(({ from, to }) => {
    const allowed = PURE_MAY_USE[pureFolderOf(from) ?? ''];
    return allowed !== undefined && !to.endsWith('.ts') && !allowed.includes(to);
  });
  expect(wrong).toEqual([]);
  const reaching = files
    .filter(file => pureFolderOf(file) !== undefined)
    .filter(file => READS_THE_WORLD.test(withoutComments(file)));
  expect(reaching).toEqual([]);
});

test('a browser can load what answers questions of manifests', () => {
  const needed = [
    'answers/questions/explanation.ts',
    'answers/questions/ask.ts',
    'answers/reach/documents.ts',
  ];
  const all = new Set(
    [...needed, 'answers/reach/diff/difftext.ts', 'answers/reach/rows.ts'].flatMap(loadedBy),
  );
  const beyond = imports.filter(({ from, to, loads }) => loads && all.has(from) && /^node:/.test(to));
  expect(beyond).toEqual([]);
});

test('reading manifests is pure: text in, objects and problems out, in a browser too', () => {
  const all = loadedBy('inputs/files/load.ts');
  // The one file of its folder that is about texts alone.
  expect(all.filter(file => !isPure(file))).toEqual(['inputs/kube/report/identity.ts']);
  const packages = imports.filter(
    ({ from, to, loads }) => loads && all.includes(from) && !to.endsWith('.ts'),
  );
  expect([...new Set(packages.map(({ to }) => to))].sort()).toEqual(['ipaddr.js', 'js-yaml', 'yaml']);
});

test('the page imports what is pure of src, and its views next to nothing', () => {
  const pure = (file: string) => isPure(file) || WEB_MAY_IMPORT.includes(file);
  const wrong = webImports.filter(({ to }) => !(to.startsWith('web/') || pure(to)));
  expect(wrong).toEqual([]);
  expect(webImports.length).toBeGreaterThan(50);
  // The core is in the worker: in the page it would be loaded, and run, a second time.
  const beyond = webImports.filter(
    ({ from, to, loads }) => loads && !to.startsWith('web/') && !from.startsWith('web/core/'),
  );
  expect([...new Set(beyond.map(({ to }) => to))].sort()).toEqual([
    'lib/collections/getormake.ts',
    'lib/text/decodedtext.ts',
    'terminal/printable.ts',
  ]);
});

test('the agent reaches the world only through what it is given', () => {
  const wrong = imports.filter(({ from, to }) => folderOf(from) === 'agent' && !to.endsWith('.ts'));
  expect(wrong).toEqual([]);
});

test('the reference loads the model, general code and itself, file by file, and nothing of what it judges', () => {
  expect(loadedBy('semantics/evaluate.ts')).toEqual([
    'lib/collections/getormake.ts',
    'lib/text/assert.ts',
    'lib/text/firstof.ts',
    'model/address.ts',
    'model/addressowners.ts',
    'model/cluster.ts',
    'model/failclosed.ts',
    'model/manyrequirements.ts',
    'model/podcidrs.ts',
    'model/policy.ts',
    'model/policystatus.ts',
    'model/selector.ts',
    'model/tunneladdresses.ts',
    'model/tunnels.ts',
    'semantics/evaluate.ts',
    'semantics/match.ts',
    'semantics/policyindex.ts',
    'semantics/reason.ts',
    'semantics/tunnelends.ts',
    'semantics/unknownpods.ts',
    'semantics/view.ts',
  ]);
});

test('nothing of src loads what measures, shows or tests', () => {
  expect(ownImports.filter(({ to }) => to.startsWith('../'))).toEqual([]);
});

test('nobody looks up names: what a pod was told counts, and no answer of our own', () => {
  expect(imports.filter(({ to }) => /^(?:node:)?dns(?:\/|$)/.test(to))).toEqual([]);
});

test('no file imports itself through others, not even for a type', () => {
  expect(findCycles()).toEqual([]);
});

function withoutComments(file: string): string {
  return readFileSync(join(SRC, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
}

function findCycles(): string[][] {
  const edges = new Map<string, string[]>();
  for (const { from, to } of ownImports) edges.set(from, [...(edges.get(from) ?? []), to]);
  const done = new Set<string>();
  const cycles: string[][] = [];
  const visit = (file: string, path: string[]) => {
    if (path.includes(file)) cycles.push([...path.slice(path.indexOf(file)), file]);
    else if (!done.has(file)) for (const next of edges.get(file) ?? []) visit(next, [...path, file]);
    done.add(file);
  };
  for (const file of edges.keys()) visit(file, []);
  return cycles;
}

/** Newer than Node 20, on which the one-file command line runs. */
const TOO_NEW =
  /Promise\.(withResolvers|try)\b|(Object|Map)\.groupBy\b|Array\.fromAsync\b|import\.meta\.main\b|RegExp\.escape\b|import \{[^}]*\bhash\b[^}]*\} from 'node:crypto'/;

test('no source of the one-file command line asks for more than Node 20', () => {
  const sources = loadedBy('cli/standalone.ts').filter(file => !loadedBy('api/rpc/client.ts').includes(file));
  expect(sources.length).toBeGreaterThan(80);
  expect(sources.filter(file => TOO_NEW.test(readFileSync(join(SRC, file), 'utf8')))).toEqual([]);
});
