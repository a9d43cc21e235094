import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { listRepository } from './repository.ts';

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'sluice-repository-'));
});

afterEach(() => rm(root, { recursive: true, force: true }));

describe('listRepository() leaves out', () => {
  test('what .gitignore files say, the deeper one first, and node_modules and .git always', async () => {
    await write({
      '.gitignore': 'build/\n*.local.yaml\n',
      'a.yaml': '',
      'a.local.yaml': '',
      'build/b.yaml': '',
      'node_modules/c/d.yaml': '',
      '.git/e.yaml': '',
      'deep/.gitignore': '!keep.local.yaml\n/f.yaml\n',
      'deep/keep.local.yaml': '',
      'deep/f.yaml': '',
      'deep/g/f.yaml': '',
    });
    expect(await listed()).toEqual({
      files: ['a.yaml', 'deep/g/f.yaml', 'deep/keep.local.yaml'],
      ignored: 4,
    });
  });

  test('nothing because of a .gitignore above it: what is named is meant', async () => {
    await write({ '.gitignore': 'build/\n', 'build/a.yaml': '' });
    expect(await listed('build')).toEqual({ files: ['a.yaml'] });
    expect(await listed('build/a.yaml')).toEqual({ files: [''] });
  });

  test('the templates and the charts of a chart, which it names, and nothing else of it', async () => {
    await write({
      'shop/Chart.yaml': '',
      'shop/values.yaml': '',
      'shop/templates/a.yaml': '',
      'shop/charts/db/Chart.yaml': '',
      'shop/charts/db/templates/b.yaml': '',
      'shop/examples/c.yaml': '',
      'templates/d.yaml': '',
    });
    expect(await listed()).toEqual({
      files: ['shop/Chart.yaml', 'shop/examples/c.yaml', 'shop/values.yaml', 'templates/d.yaml'],
      charts: ['shop'],
    });
  });

  test('the patches of kustomizations, of every form', async () => {
    await write({
      'base/a.yaml': '',
      'over/kustomization.yaml':
        'resources: [../base]\npatches: [{ path: one.yaml }, { patch: "x: 1" }]\npatchesStrategicMerge:\n- sub/two.yaml\n- |\n  kind: Pod\n',
      'over/one.yaml': '',
      'over/sub/two.yaml': '',
      'over/sub/one.yaml': '',
      'old/Kustomization': 'patchesJson6902: [{ path: ../base/three.yaml }, 1]\n',
      'base/three.yaml': '',
      'base/four.yaml': '',
      'base/kustomization.yaml': 'resources: [a.yaml, ./four.yaml]\n',
      'kustomization.yaml': 'patches: [{ path: base/four.yaml }]\n',
      'bad/kustomization.yaml': 'patches: [',
    });
    expect(await listed()).toEqual({
      files: [
        'bad/kustomization.yaml',
        'base/a.yaml',
        'base/four.yaml',
        'base/kustomization.yaml',
        'base/three.yaml',
        'kustomization.yaml',
        'over/kustomization.yaml',
        'over/sub/one.yaml',
      ],
      patches: 2,
    });
  });

  test('manifests that mention a policy, and names them, but none of node_modules', async () => {
    const policy = '{ "kind": "NetworkPolicy" }';
    await write({
      '.gitignore': 'out/\nnode_modules\nallow.yaml\nother.yaml\n',
      'allow.yaml': 'kind: ClusterNetworkPolicy\n',
      'other.yaml': 'kind: Pod # no NetworkPolicy\n',
      'out/deep/a.json': policy,
      'out/text.txt': policy,
      'node_modules/b.json': policy,
      'out/node_modules/c.json': policy,
      'kustomization.yaml': 'patches: [{ path: d.yaml }]\n',
      'd.yaml': policy,
    });
    const short = (file: string) => file.slice(root.length + 1);
    const { tally } = await listRepository(root);
    expect(tally.policies.map(short).toSorted()).toEqual(['allow.yaml', 'd.yaml', 'out/deep/a.json']);
  });

  test('links to nowhere that are not called as a manifest is, and folders that are listed already', async () => {
    await write({ 'a/b.yaml': '' });
    await symlink('nowhere', join(root, 'lost'));
    await symlink('nowhere', join(root, 'lost.yaml'));
    await symlink('..', join(root, 'a', 'up'));
    await symlink(root, join(root, 'a', 'up.yaml'));
    expect(await listed()).toEqual({ files: ['a/b.yaml', 'lost.yaml'], lostLinks: 1 });
  });
});

test.each([
  ['a long line', `${'a'.repeat(2_000)}\n`, ['a'], true],
  ['150 folders', `d/${'**/'.repeat(20_000)}b\n`, [`d/${'e/'.repeat(148)}a`], true],
  ['long names', `*${'a'.repeat(120)}b\n`.repeat(2_000), names(3), true],
  ['nothing', 'b.yaml\n', ['a'], false],
])(
  'listRepository() gives up on hostile lines of a .gitignore, and says so: %s',
  async (_, lines, paths, isIgnoreCut) => {
    await write({ '.gitignore': lines, ...Object.fromEntries(paths.map(path => [`${path}.yaml`, ''])) });
    const { files, tally } = await listRepository(root);
    expect([files.length, tally.isIgnoreCut]).toEqual([paths.length, isIgnoreCut]);
  },
);

function names(count: number): string[] {
  return Array.from({ length: count }, (_, n) => `${'a'.repeat(240)}${n}`);
}

test.each(['.', './', 'deep/..', './deep/../'])('listRepository() of the root written as %s', async path => {
  await write({ '.gitignore': '/a.yaml\n', 'a.yaml': '', 'b.yaml': '', 'deep/a.yaml': '' });
  const before = process.cwd();
  try {
    process.chdir(root);
    expect((await listRepository(path)).files).toEqual(['b.yaml', 'deep/a.yaml']);
  } finally {
    process.chdir(before);
  }
});

test('listRepository() says what kustomize would build, and which files that has', async () => {
  const overlay = (...resources: string[]) => JSON.stringify({ resources });
  await write({
    'base/kustomization.yaml': 'resources: [a.yaml]\ncomponents: [../part]\npatches: [{ path: b.yaml }]\n',
    'part/kustomization.yaml': 'kind: Component\nresources: [c.yaml]\n',
    'alone/Kustomization': 'kind: Component\n',
    'prod/kustomization.yaml': overlay('../base', 'https://example.org/d.yaml', '../../out', '/etc'),
    'old/kustomization.yml': 'bases: [./../base/]\n',
    'flux/kustomization.yaml':
      'apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nresources: [../prod]\n',
    'x/kustomization.yaml': overlay('../y'),
    'y/kustomization.yaml': overlay('../x', '../z'),
    'z/kustomization.yaml': overlay('.'),
    'bad/kustomization.yaml': 'resources: [',
  });
  const { kustomizations } = await listRepository(root);
  const short = (file: string) => relative(root, file);
  const found = kustomizations.map(({ folder, files }) => [short(folder), [...files].map(short).sort()]);
  const shared = ['base/a.yaml', 'base/b.yaml', 'part', 'part/c.yaml'];
  expect(Object.fromEntries(found)).toEqual({
    old: ['base', ...shared],
    prod: ['../out', 'base', ...shared, 'prod/etc', 'prod/https:/example.org/d.yaml'],
    x: ['x', 'y', 'z'],
    bad: [],
  });
});

async function write(texts: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(texts)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text);
  }
}

/** With paths from the folder on, and without what is nothing. */
async function listed(path = ''): Promise<object> {
  const folder = join(root, path);
  const { files, tally } = await listRepository(folder);
  const short = (file: string) => file.slice(folder.length + 1);
  const counts = Object.entries({ ...tally, charts: tally.charts.map(short) }).filter(
    ([, value]) => value && String(value),
  );
  return { files: files.map(short), ...Object.fromEntries(counts) };
}
