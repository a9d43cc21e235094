import { mkdir, mkdtemp, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until as eventually } from '../../../test/support/until.ts';
import { type ClusterEvent, ClusterState } from '../../model/cluster.ts';
import { type Problem, problemText } from '../../model/problem.ts';
import { type ManifestWatch, watchManifests } from './source.ts';

let root: string;
let folder: string;
let watching: ManifestWatch | undefined;
let cluster: ClusterState;
let batches: (readonly ClusterEvent[])[];
let problems: readonly Problem[];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'sluice-source-'));
  folder = join(root, 'manifests');
  await mkdir(folder);
  [cluster, batches, problems] = [new ClusterState(), [], []];
});

afterEach(async () => {
  await watching?.close();
  watching = undefined;
  await rm(root, { recursive: true, force: true });
});

describe('watchManifests()', () => {
  test('tells the first whole read as one batch, and then is ready', async () => {
    await write('a.yaml', policy('one'));
    await write('deep/b.yaml', policy('two'));
    expect(await start()).toEqual({ complete: true });
    expect(batches.map(batch => batch.map(describeEvent))).toEqual([['+one', '+two']]);
  });

  test('of a file that does not parse says that the first read is not complete', async () => {
    await write('a.yaml', policy('one'));
    await write('b.yaml', 'a: [');
    expect(await start()).toEqual({ complete: false });
    expect(texts()).toEqual([expect.stringContaining('manifests/b.yaml:1: Flow sequence')]);
  });

  test('of a policy that cannot be read says that the first read is not complete', async () => {
    await write('a.yaml', policy('one').replace('name: one', 'name: One'));
    expect(await start()).toEqual({ complete: false });
  });

  test('takes a file that appears, one that changes and one that vanishes', async () => {
    await start();
    await write('a.yaml', policy('one'));
    await until(() => names() === 'one');
    await write('a.yaml', `${policy('one')}\n---\n${policy('two')}`);
    await until(() => names() === 'one two');
    await rm(join(folder, 'a.yaml'));
    await until(() => names() === '');
    expect(batches.map(batch => batch.map(describeEvent))).toEqual([['+one'], ['+two'], ['-one', '-two']]);
  });

  test('takes a file that an editor puts in place by renaming', async () => {
    await write('a.yaml', policy('one'));
    await start();
    await write('.a.yaml.swp', policy('two'));
    await rename(join(folder, '.a.yaml.swp'), join(folder, 'a.yaml'));
    await until(() => names() === 'two');
    expect(batches.at(-1)!.map(describeEvent)).toEqual(['-one', '+two']);
  });

  test('keeps what a linked folder held while the link leads nowhere', async () => {
    await mkdir(join(root, 'elsewhere'));
    await writeFile(join(root, 'elsewhere', 'a.yaml'), policy('one'));
    await symlink(join(root, 'elsewhere'), join(folder, 'linked'));
    await start();
    await rename(join(root, 'elsewhere'), join(root, 'gone'));
    await until(() => texts().length > 0);
    expect(names()).toBe('one');
    expect(texts()).toEqual([expect.stringContaining('manifests/linked: does not exist')]);
    await rename(join(root, 'gone'), join(root, 'elsewhere'));
    await until(() => texts().length === 0);
    expect(names()).toBe('one');
  });

  test('takes a ConfigMap, whose files all change by the swap of one link, as one batch', async () => {
    await write('..1/a.yaml', policy('one'));
    await write('..1/b.yaml', policy('two'));
    await symlink('..1', join(folder, '..data'));
    await symlink('..data/a.yaml', join(folder, 'a.yaml'));
    await symlink('..data/b.yaml', join(folder, 'b.yaml'));
    await start();
    expect(names()).toBe('one two');
    await write('..2/a.yaml', policy('three'));
    await write('..2/b.yaml', policy('four'));
    await symlink('..2', join(folder, '..tmp'));
    await rename(join(folder, '..tmp'), join(folder, '..data'));
    await until(() => names() === 'four three');
    expect(batches).toHaveLength(2);
  });

  test('keeps what a file said when it stops parsing, until it parses again', async () => {
    await write('a.yaml', policy('one'));
    await start();
    await write('a.yaml', `${policy('two')}\n---\na: [`);
    await until(() => texts().length === 1);
    expect(texts()[0]).toMatch(/a\.yaml:\d+: .*; file ignored; the previous version stays/);
    expect(names()).toBe('one');
    await write('a.yaml', policy('two'));
    await until(() => names() === 'two' && texts().length === 0);
  });

  test('keeps the last good version of an object that cannot be read', async () => {
    await write('a.yaml', policy('one'));
    await start();
    await write('a.yaml', `${policy('one').replace('{}', '5')}\n---\n${policy('two')}`);
    await until(() => names() === 'one two');
    expect(texts()).toEqual([expect.stringContaining('spec.podSelector must be a map, not 5')]);
    expect(cluster.policies.get('NetworkPolicy shop/one')!.ingress).toEqual([]);
  });

  test('keeps everything when the folder vanishes, and follows it again when it returns', async () => {
    await write('a.yaml', policy('one'));
    await write('b.yaml', policy('two'));
    await start();
    await rm(folder, { recursive: true });
    await until(() => texts().length === 1);
    expect(texts()[0]).toMatch(/manifests: does not exist; everything .* stays as it was until it returns/);
    expect(names()).toBe('one two');
    await write('b.yaml', policy('two'));
    await until(() => names() === 'two' && texts().length === 0);
    await write('c.yaml', policy('three'));
    await until(() => names() === 'three two');
  });

  test('waits for a folder that is not there yet', async () => {
    await rm(folder, { recursive: true });
    const ready = start();
    await until(() => texts().length === 1);
    await write('a.yaml', policy('one'));
    expect(await ready).toEqual({ complete: true });
    expect(names()).toBe('one');
  });

  test('refuses a file of more than 16 MiB, and keeps what it said before', async () => {
    await write('a.yaml', policy('one'));
    await start();
    await truncate(join(folder, 'a.yaml'), 20 * 1024 * 1024);
    await until(() => texts().length === 1);
    expect(texts()[0]).toContain('has 20.0 MiB, and 16 is the most; file ignored');
    expect(names()).toBe('one');
  });

  test('never takes a file that is half written for what somebody meant', async () => {
    await write('a.yaml', policy('one'));
    await start();
    for (let round = 0; round < 10; round++) {
      await truncate(join(folder, 'a.yaml'), 0);
      await sleep(5);
      await write('a.yaml', policy('one'));
      await sleep(5);
    }
    await write('b.yaml', policy('two'));
    await until(() => names() === 'one two');
    expect(batches.map(batch => batch.map(describeEvent))).toEqual([['+one'], ['+two']]);
  });

  test('keeps the first of two objects with one name, and takes the second when the first goes', async () => {
    await write('a.yaml', policy('one'));
    await write('b.yaml', policy('one').replace('Ingress', 'Egress'));
    await start();
    expect(texts()).toEqual([expect.stringMatching(/b\.yaml: NetworkPolicy shop\/one: is in .*a\.yaml too/)]);
    expect(cluster.policies.get('NetworkPolicy shop/one')!.egress).toBeUndefined();
    await rm(join(folder, 'a.yaml'));
    await until(() => texts().length === 0);
    expect(cluster.policies.get('NetworkPolicy shop/one')!.egress).toEqual([]);
  });

  test('tells nothing after it was closed', async () => {
    await start();
    await watching!.close();
    const before = batches;
    batches = [];
    await start(); // This source begins to watch later, so it gets no earlier notifications.
    await write('a.yaml', policy('one'));
    await until(() => names() === 'one');
    expect([before, batches.length]).toEqual([[], 1]);
  });
});

function start() {
  watching = watchManifests(
    folder,
    {
      onEvents: events => {
        batches.push(events);
        for (const event of events) cluster.apply(event);
      },
      onProblems: told => {
        problems = told;
      },
    },
    { settleMs: 20, pollMs: 100 },
  );
  return watching.ready;
}

async function write(name: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, name)), { recursive: true });
  await writeFile(join(folder, name), text);
}

function policy(name: string): string {
  return [
    'apiVersion: networking.k8s.io/v1',
    'kind: NetworkPolicy',
    `metadata: { name: ${name}, namespace: shop }`,
    'spec: { podSelector: {}, policyTypes: [Ingress] }',
  ].join('\n');
}

function names(): string {
  return [...cluster.policies.values()]
    .map(({ name }) => name.replace('shop/', ''))
    .toSorted()
    .join(' ');
}

function texts(): string[] {
  return problems.map(problemText);
}

function describeEvent({ key, value }: ClusterEvent): string {
  return `${value === undefined ? '-' : '+'}${key.replace('NetworkPolicy shop/', '')}`;
}

async function until(holds: () => boolean): Promise<void> {
  await eventually(() => `policies: ${names()}; ${texts().join('\n')}`, holds);
}
