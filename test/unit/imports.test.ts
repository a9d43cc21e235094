/** Who may import whom (docs/architecture.md): one direction, no cycles, and no IO in the pure parts. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { files, folderOf, imports, loadedBy, ownImports, SRC } from '../support/importgraph.ts';

/** Folders that a folder may import beside itself. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  model: [],
  async: [],
  terminal: ['model'],
  semantics: ['model'],
  reach: ['model', 'semantics'],
  names: ['model'],
  denials: ['model', 'semantics'],
  flows: ['model', 'denials'],
  recording: ['model', 'semantics', 'flows', 'denials'],
  ends: ['model', 'names', 'semantics'],
  nft: ['model'],
  compiler: ['model', 'names', 'nft'],
  readback: ['model', 'names', 'nft', 'semantics', 'compiler'],
  agent: ['async', 'model', 'names', 'semantics', 'nft', 'compiler', 'readback'],
  kube: ['async', 'terminal', 'model'],
  files: ['async', 'model', 'kube'],
  netlink: ['async', 'model', 'nft'],
  nri: ['async'],
  health: ['model'],
  host: ['model', 'health'],
  hearing: ['model', 'names', 'netlink', 'host'],
  network: ['async', 'model', 'netlink', 'nri'],
  rpc: [
    'async',
    'terminal',
    'model',
    'names',
    'denials',
    'recording',
    'flows',
    'semantics',
    'nft',
    'compiler',
    'readback',
    'agent',
    'health',
    'network',
  ],
  sources: ['async', 'terminal', 'model', 'names', 'kube', 'files', 'host', 'rpc'],
  daemon: [
    'async',
    'terminal',
    'model',
    'nft',
    'compiler',
    'agent',
    'kube',
    'files',
    'names',
    'denials',
    'recording',
    'semantics',
    'flows',
    'netlink',
    'hearing',
    'nri',
    'network',
    'health',
    'host',
    'rpc',
  ],
  lab: ['model', 'nft', 'netlink'],
  bench: [
    'async',
    'model',
    'semantics',
    'reach',
    'nft',
    'compiler',
    'agent',
    'kube',
    'files',
    'netlink',
    'network',
    'host',
    'nri',
    'rpc',
    'lab',
    'readback',
  ],
  demo: [
    'async',
    'terminal',
    'model',
    'semantics',
    'nft',
    'compiler',
    'readback',
    'files',
    'netlink',
    'lab',
    'rpc',
  ],
  cli: [
    'async',
    'denials',
    'recording',
    'ends',
    'flows',
    'sources',
    'terminal',
    'model',
    'semantics',
    'reach',
    'nft',
    'compiler',
    'readback',
    'agent',
    'kube',
    'files',
    'names',
    'netlink',
    'network',
    'health',
    'host',
    'rpc',
    'daemon',
    'bench',
    'demo',
    'lab',
  ],
};

/** Packages and built-ins that the pure parts may use: they compute and touch nothing. */
const PURE_MAY_USE: Record<string, readonly string[]> = {
  model: ['ipaddr.js'],
  semantics: [],
  reach: [],
  names: [],
  ends: [],
  denials: [],
  recording: [],
  flows: [],
  nft: [],
  compiler: ['node:crypto'],
  readback: [],
  health: [],
};

test('the test reads the imports of every file', () => {
  expect(files.length).toBeGreaterThan(40);
  expect(ownImports.length).toBeGreaterThan(100);
});

test('every folder is named in the import rule', () => {
  expect(new Set(files.map(folderOf))).toEqual(new Set(Object.keys(MAY_IMPORT)));
});

test('imports point one way: model <- semantics, nft <- compiler <- agent <- edges', () => {
  const wrong = ownImports.filter(({ from, to }) => {
    const [source, target] = [folderOf(from), folderOf(to)];
    return source !== target && !MAY_IMPORT[source]?.includes(target);
  });
  expect(wrong).toEqual([]);
});

test('the pure parts use no clock, no logger, no environment and no IO', () => {
  const wrong = imports.filter(({ from, to }) => {
    const allowed = PURE_MAY_USE[folderOf(from)];
    return allowed !== undefined && !to.endsWith('.ts') && !allowed.includes(to);
  });
  expect(wrong).toEqual([]);
  const reaching = files
    .filter(file => folderOf(file) in PURE_MAY_USE)
    .filter(file => /\b(process|console|setTimeout|Date|performance)\b[.(]/.test(withoutComments(file)));
  expect(reaching).toEqual([]);
});

test('the agent reaches the world only through what it is given', () => {
  const wrong = imports.filter(({ from, to }) => folderOf(from) === 'agent' && !to.endsWith('.ts'));
  expect(wrong).toEqual([]);
});

test('the reference loads the model and itself, file by file, and nothing of what it judges', () => {
  expect(loadedBy('semantics/evaluate.ts')).toEqual([
    'model/address.ts',
    'model/addressowners.ts',
    'model/assert.ts',
    'model/cluster.ts',
    'model/failclosed.ts',
    'model/firstof.ts',
    'model/getormake.ts',
    'model/manyrequirements.ts',
    'model/podcidrs.ts',
    'model/policy.ts',
    'model/selector.ts',
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

/** What measures and shows. */
const NOT_ON_A_NODE = ['bench', 'lab', 'demo'];

test('the daemon never loads what measures and shows, not even through others', () => {
  const daemon = files.filter(file => folderOf(file) === 'daemon').flatMap(loadedBy);
  expect(new Set(daemon).size).toBeGreaterThan(100);
  expect(daemon.filter(file => NOT_ON_A_NODE.includes(folderOf(file)))).toEqual([]);
});

test('only commands import what measures and shows', () => {
  const importers = ownImports
    .filter(({ to }) => NOT_ON_A_NODE.includes(folderOf(to)))
    .map(({ from }) => folderOf(from));
  expect(new Set(importers)).toEqual(new Set([...NOT_ON_A_NODE, 'cli']));
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
