import { execFile, execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { lint } from '../../answers/lint/lint.ts';
import { problemText } from '../../model/problem.ts';
import { checkManifests, loadManifests } from './manifests.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-load-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

describe('loadManifests()', () => {
  test('reads YAML and JSON of a folder and its folders, and leaves other files and dot files', async () => {
    await write('a.yaml', namespace('a'));
    await write('b.yml', namespace('b'));
    await write('c.json', JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'c' } }));
    await write('deep/er/d.yaml', namespace('d'));
    await write('.hidden.yaml', namespace('hidden'));
    await write('.git/e.yaml', namespace('hidden'));
    await write('README.md', 'a: [');
    await write('a.yaml~', 'a: [');
    expect(await names()).toEqual(['a', 'b', 'c', 'd']);
  });

  test('reads one file, whatever it is called', async () => {
    await write('manifests.txt', namespace('a'));
    const { cluster } = await loadManifests(join(folder, 'manifests.txt'));
    expect([...cluster.namespaces.keys()]).toEqual(['a']);
  });

  test('reads what `kubectl get -o yaml` prints', async () => {
    await write(
      'a.yaml',
      `apiVersion: v1\nitems:\n- ${namespace('a').replaceAll('\n', '\n  ')}\nkind: List\n`,
    );
    expect(await names()).toEqual(['a']);
  });

  test('reads whole objects of every kind as an API server hands them out, with nothing to complain of', async () => {
    const fixture = join(import.meta.dirname, '../../../test/fixtures/manifests/from-api-server.yaml');
    const { cluster, problems } = await checkManifests(fixture, lint);
    expect(problems).toEqual([]);
    expect([...cluster.namespaces.keys(), ...cluster.nodes.keys(), ...cluster.pods.keys()]).toEqual([
      'shop',
      'worker-1',
      'shop/web-7c9d8f6b5-x2x4k',
    ]);
    expect([...cluster.policies.keys()]).toEqual([
      'NetworkPolicy shop/web',
      'ClusterNetworkPolicy metadata-address',
      'AdminNetworkPolicy monitoring',
      'BaselineAdminNetworkPolicy default',
    ]);
  });

  test('reads UTF-16, as some shells redirect what kubectl prints', async () => {
    const text = Buffer.from(`\ufeff${namespace('wide')}`, 'utf16le');
    await writeFile(join(folder, 'le.yaml'), text);
    await writeFile(
      join(folder, 'be.json'),
      Buffer.from(text.toString('utf16le').replace('wide', 'big'), 'utf16le').swap16(),
    );
    expect(await names()).toEqual(['big', 'wide']);
  });

  test('hides policies where a file or a policy cannot be read, whatever the case of its kind', async () => {
    await write('a.yaml', namespace('a'));
    expect((await loadManifests(folder)).hidesPolicies).toBe(false);
    for (const text of [
      'apiVersion: v1\nkind: [',
      'apiVersion: networking.k8s.io/v1\nkind: networkpolicy\nmetadata: { name: a }',
    ]) {
      await write('b.yaml', text);
      expect((await loadManifests(folder)).hidesPolicies, text).toBe(true);
    }
  });

  test('throws where the path does not exist', async () => {
    await expect(loadManifests(join(folder, 'nothing'))).rejects.toThrow('ENOENT');
  });

  test('says of a link to nowhere that it does not exist, and reads the others', async () => {
    await write('a.yaml', namespace('a'));
    await symlink('nowhere.yaml', join(folder, 'b.yaml'));
    expect(await names()).toEqual(['a']);
    expect(await texts()).toEqual([`${folder}/b.yaml: does not exist; nothing of it is read`]);
  });

  test('says of a pipe in a folder that it is no file, and reads one that was named', async () => {
    const pipe = join(folder, 'pipe.yaml');
    execFileSync('mkfifo', [pipe]);
    const { problems, hidesPolicies } = await loadManifests(folder);
    expect(problems.map(problemText)).toEqual([expect.stringContaining('is neither a file nor a folder')]);
    expect(hidesPolicies).toBe(true);
    const writing = execFile('sh', [
      '-c',
      `echo "{ apiVersion: v1, kind: Namespace, metadata: { name: a } }" >${pipe}`,
    ]);
    expect((await loadManifests(pipe)).problems).toEqual([]);
    writing.kill();
  });

  test('says file, line, object and field of each problem', async () => {
    await write('a.yaml', `${namespace('a')}\n---\n${namespace('b')}\n  labels: { a: 1 }\n`);
    expect(await texts()).toEqual([
      `${folder}/a.yaml:10: Namespace b: metadata.labels.a must be text, not 1: put it in quotes; its labels are not known: no rule that asks for labels allows it anything, and each may deny it`,
    ]);
  });

  test('says of an object that comes twice in one file that the first one counts', async () => {
    await write('a.yaml', `${namespace('a')}\n---\n${namespace('a')}\n  labels: { b: c }\n`);
    const { cluster, problems } = await loadManifests(folder);
    expect(cluster.namespaces.get('a')!.labels).not.toHaveProperty('b');
    expect(problems.map(problemText)).toEqual([
      `${folder}/a.yaml:6: Namespace a: is in this file more than once; the first one counts`,
    ]);
  });
});

async function write(name: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, name)), { recursive: true });
  await writeFile(join(folder, name), text);
}

function namespace(name: string): string {
  return `apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ${name}`;
}

async function names(): Promise<string[]> {
  return [...(await loadManifests(folder)).cluster.namespaces.keys()].toSorted();
}

async function texts(): Promise<string[]> {
  return (await loadManifests(folder)).problems.map(problemText);
}
