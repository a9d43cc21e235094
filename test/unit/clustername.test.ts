/** What the cluster's scripts take as a name, and what `down` removes for it. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const CLUSTER = join(import.meta.dirname, '../cluster');
const DOWN = join(CLUSTER, 'nodes/down.sh');

let folder: string;
let states: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-name-'));
  states = join(folder, 'states');
  mkdirSync(join(folder, 'bin'));
  // No network namespace is touched; which would be is noted.
  writeFileSync(join(folder, 'bin/ip'), NAMESPACES.replace('FOLDER', folder), { mode: 0o755 });
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const NAMESPACES = `#!/bin/sh
case "$*" in
  'netns list') echo 'unittest-cp (id: 1)'; echo 'unittest-node1'; echo 'unittest-node1-cp'; echo 'aunittest-node2'; echo 'unittest2-cp' ;;
  'netns del '*) echo "$3" >>FOLDER/ended ;;
esac
`;

function bash(words: readonly string[], variables: object) {
  const PATH = `${join(folder, 'bin')}:${process.env.PATH}`;
  const env = { ...process.env, PATH, SLUICE_STATE: states, ...variables };
  const { status, stdout, stderr } = spawnSync('bash', words, { env, encoding: 'utf8' });
  return { status, stdout: stdout.trim(), stderr };
}
const down = (SLUICE_CLUSTER: string, SLUICE_STATE = states) =>
  bash([DOWN], { SLUICE_CLUSTER, SLUICE_STATE });
const named = (variables: object) => bash(['-c', `. '${CLUSTER}/env.sh' && echo "$state"`], variables);

/** A folder with files, and what is in it afterwards. */
function place(path: string, ...files: string[]) {
  mkdirSync(path, { recursive: true });
  for (const file of files) writeFileSync(join(path, file), '');
  return () => (existsSync(path) ? readdirSync(path).sort() : undefined);
}

test.each(['k8s', 'ci-a', '7', 'down-test', 'sluice-storm-aB3xYz', 'x'.repeat(31)])('%s is a name', name => {
  expect(named({ SLUICE_CLUSTER: name })).toEqual({ status: 0, stdout: join(states, name), stderr: '' });
});

test.each(['../x', '.*', 'at tack', 'a/b', '-a', '.', 'a.b', 'a\nb', 'ä', 'sysctl', 'x'.repeat(32)])(
  '%j is none: down refuses it, and removes nothing',
  name => {
    const beside = place(join(folder, 'x'), 'file', 'options');
    const other = place(join(states, 'a'), 'options');
    const { status, stderr } = down(name);
    expect([status, beside(), other()]).toEqual([1, ['file', 'options'], ['options']]);
    expect(stderr).toContain(`SLUICE_CLUSTER '${name}' is no name of a cluster`);
    expect(existsSync(join(folder, 'ended'))).toBe(false);
  },
);

test.each(['relative', '/with space', '/a:b', '/a*'])('%j is no place to keep things in', path => {
  for (const variable of ['SLUICE_STATE', 'SLUICE_CACHE'])
    expect(named({ [variable]: path })).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(`${variable} '${path}' is no absolute path`),
    });
});

describe('down', () => {
  test('removes what up made, and the namespaces of this cluster alone', () => {
    const state = place(join(states, 'unittest'), 'options', 'ready', 'cp.pid');
    expect(down('unittest')).toMatchObject({ status: 0, stderr: '' });
    expect([state(), existsSync(states)]).toEqual([undefined, false]);
    expect(bash(['-c', `cat ${folder}/ended`], {}).stdout.split('\n')).toEqual([
      'unittest-cp',
      'unittest-node1',
    ]);
  });

  test('leaves other clusters, and files of others, where they are', () => {
    place(join(states, 'unittest'), 'options');
    const [other, beside] = [place(join(states, 'second'), 'options'), place(states, 'notes.txt')];
    expect(down('unittest').status).toBe(0);
    expect([other(), beside()]).toEqual([['options'], ['notes.txt', 'second']]);
    expect(down('second').status).toBe(0);
    expect(beside()).toEqual(['notes.txt']);
  });

  test('leaves a folder that up did not make, and says so', () => {
    const log = place(join(folder, 'var/log'), 'syslog');
    const { status, stderr } = down('log', join(folder, 'var'));
    expect([status, log()]).toEqual([1, ['syslog']]);
    expect(stderr).toContain(`${folder}/var/log is no cluster's`);
  });

  test('where nothing is, there is nothing to do', () => {
    expect(down('unittest')).toMatchObject({ status: 0, stderr: '' });
  });
});
