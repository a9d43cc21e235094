/** Edits that are certainly mistakes must not remove a policy that is in force. */
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readManifest } from '../files/manifest.ts';
import { ManifestStore } from '../files/store.ts';
import { listManifests, readManifestFile } from './folder.ts';

const DENY = `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: deny, namespace: x }
spec: { podSelector: {}, policyTypes: [Ingress] }
`;
const FILE = 'deny.yaml';

describe('a policy stays in force, and a problem says so, while its file', () => {
  test.each([
    ['has another version', DENY.replace('/v1', '/v1beta1')],
    ['has a misspelt kind', DENY.replace('NetworkPolicy', 'NetworkPolcy')],
    ['has no kind', DENY.replace('kind: NetworkPolicy\n', '')],
    ['has a name that is none', DENY.replace('deny', 'Deny')],
    [
      'has another name that is none, beside an object that is one',
      `${DENY.replace('deny', 'D')}---\n${DENY.replace('deny', 'other')}`,
    ],
    ['holds zeros', '\0'.repeat(300)],
    ['holds prose', 'deny all please'],
    ['is empty', ''],
    ['holds comments alone', '# nothing yet\n'],
    ['is no YAML', '{'],
  ])('%s', (_, text) => {
    const store = new ManifestStore();
    store.put(FILE, readManifest(DENY, FILE));
    expect(store.flush().map(({ key }) => key)).toEqual(['NetworkPolicy x/deny']);
    store.put(FILE, readManifest(text, FILE));
    expect(store.flush().filter(event => event.value === undefined)).toEqual([]);
    expect(store.problems()).not.toEqual([]);
  });
});

test('a policy that its file does not name any more is gone, where all of the file can be read', () => {
  const store = new ManifestStore();
  store.put(FILE, readManifest(`${DENY}---\n${DENY.replace('deny', 'other')}`, FILE));
  store.flush();
  store.put(FILE, readManifest(DENY, FILE));
  expect(store.flush()).toEqual([{ type: 'policy', key: 'NetworkPolicy x/other' }]);
});

describe('listManifests()', () => {
  let root = '';
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'sluice-list-'));
    await mkdir(join(root, 'sub'));
    await writeFile(join(root, 'sub', FILE), DENY);
  });
  afterEach(async () => {
    await chmod(join(root, 'sub'), 0o755).catch(() => {});
    await rm(root, { recursive: true, force: true });
  });

  test('reads a folder once, though links lead back to it', async () => {
    await symlink('.', join(root, 'l1'));
    await symlink('.', join(root, 'l2'));
    await symlink('..', join(root, 'sub', 'l3'));
    expect(await listManifests(root)).toEqual([join(root, 'sub', FILE)]);
  });

  test('reads each of many folders once that all lead to one another, and where it stands', async () => {
    const names = Array.from({ length: 12 }, (_, n) => `f${n}`).toSorted();
    for (const name of names) {
      await mkdir(join(root, name));
      await writeFile(join(root, name, FILE), DENY);
      for (const other of names) await symlink(join(root, other), join(root, name, `to-${other}`));
      await symlink(name, join(root, `a-link-to-${name}`));
    }
    const files = [...names, 'sub'].map(name => join(root, name, FILE));
    expect(await listManifests(root)).toEqual(files);
  });

  test('reads so many folders and no more, and says of the others that they were not read', async () => {
    for (const name of ['x', 'y', 'z']) await mkdir(join(root, name));
    await writeFile(join(root, 'z', FILE), DENY);
    expect(await listManifests(root, 3)).toEqual([join(root, 'sub', FILE), join(root, 'y'), join(root, 'z')]);
    const { objects, problems } = await readManifestFile(join(root, 'z'));
    expect(objects).toBeUndefined();
    expect(problems).toMatchObject([
      { severity: 'error', message: 'is a folder, and more folders than are read come before it' },
    ]);
  });

  test('lists a link to nowhere, so that reading it tells what is missing', async () => {
    await symlink('/nowhere/at/all', join(root, 'elsewhere'));
    expect(await listManifests(root)).toContain(join(root, 'elsewhere'));
    const { objects, problems } = await readManifestFile(join(root, 'elsewhere'));
    expect(objects).toBeUndefined();
    expect(problems).toMatchObject([{ severity: 'error', file: join(root, 'elsewhere') }]);
  });
});
