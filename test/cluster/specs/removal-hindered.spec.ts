/**
 * A removal that is killed, refused, or comes while something else goes on: the next one finishes it, and none says of a
 * node that it is clean where it is not. What pods meet meanwhile: removal.spec.ts.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, create, remove } from './support/api.ts';
import { cni, kubectl, nodes, sleep, until } from './support/cluster.ts';
import {
  deleteManifests,
  expectClean,
  expectUninstalledByHelm,
  helm,
  installByHelm,
  installByKustomize,
  leftAtServer,
  leftOn,
  MANIFESTS,
  removalSaying,
  spawnHelm,
  spawnUninstall,
  uninstallByHelm,
  uninstallFromAllNodes,
} from './support/installs.ts';
import { agents } from './support/site.ts';

const folder = mkdtempSync(join(tmpdir(), 'removal-'));
const manifests = join(folder, 'manifests.yaml');

beforeAll(async () => {
  writeFileSync(manifests, await kubectl('kustomize', MANIFESTS));
});

// Whatever became of a test: the specs behind it need the agents, and DNS a network.
afterAll(async () => {
  rmSync(folder, { recursive: true });
  if ((await helm('status', 'sluice')).code === 0) await uninstallByHelm();
  await kubectl('-n', 'sluice', 'delete', 'daemonset/sluice-cleaner', '--ignore-not-found').catch(() => {});
  await installByKustomize();
  if (cni === 'sluice')
    await kubectl('-n', 'kube-system', 'delete', 'pods', '--all', '--force', '--grace-period=0');
});

/** Where manifests were applied before, whose objects helm would not take over. */
async function installAnewByHelm(): Promise<void> {
  await deleteManifests();
  await installByHelm();
}

async function expectNothingLeft(): Promise<void> {
  for (const node of nodes) expect(await leftOn(node), node).toEqual([]);
}

const DAEMONSETS = '/apis/apps/v1/namespaces/sluice/daemonsets';
const status = async (path: string) => (await call('GET', path)).status;
const namesOfAgents = async () => [...(await agents()).values()].map(({ name }) => name);
const cleaners = async () => {
  const { body } = await call(
    'GET',
    '/api/v1/namespaces/sluice/pods?labelSelector=app.kubernetes.io/name%3Dsluice-cleaner',
  );
  return body.items.length as number;
};

/** At once, and whatever it has under way. */
async function killedWhen(child: ChildProcess, isThen: () => Promise<boolean>): Promise<void> {
  const end = once(child, 'exit');
  while (child.exitCode === null && !(await isThen())) await sleep(5);
  child.kill('SIGKILL');
  expect((await end)[1], 'it was killed before its end').toBe('SIGKILL');
}

const MOMENTS: [string, () => Promise<boolean>][] = [
  ['the cleaners wait for the agents', async () => (await status(`${DAEMONSETS}/sluice-cleaner`)) === 200],
  ['the agents are told to end', async () => (await status(`${DAEMONSETS}/sluice`)) === 404],
  ['the cleaners start', async () => (await cleaners()) > 0],
];

describe('a removal that was killed is finished by the next', () => {
  test.each(MOMENTS)('when %s', async (_, isThen) => {
    await installByKustomize();
    await killedWhen(spawnUninstall(), isThen);
    expectClean(await uninstallFromAllNodes());
    await expectNothingLeft();
  });

  test('of helm too', async () => {
    await installAnewByHelm();
    await killedWhen(spawnHelm('uninstall', 'sluice'), async () => (await cleaners()) > 0);
    expectUninstalledByHelm(await uninstallByHelm());
    await expectNothingLeft();
    await until('every object is gone', async () => ((await leftAtServer()).length === 0 ? true : undefined));
  });
});

describe('helm uninstall cleans the nodes where somebody was before it', () => {
  test.each([
    ['deleted the DaemonSet', () => kubectl('-n', 'sluice', 'delete', 'daemonset/sluice')],
    ['used sluice uninstall', uninstallFromAllNodes],
  ])('and %s', async (_, before: () => Promise<unknown>) => {
    await installAnewByHelm();
    await before();
    expectUninstalledByHelm(await uninstallByHelm());
    await expectNothingLeft();
  });
});

test('helm install refuses to put agents beside cleaners that still wait for a node', async () => {
  await installByKustomize();
  await killedWhen(spawnUninstall(), MOMENTS[1]![1]);
  await kubectl('delete', 'clusterrole/sluice', 'clusterrolebinding/sluice');
  const policies = ['validatingadmissionpolicy', 'validatingadmissionpolicybinding'];
  await kubectl('delete', ...policies.map(kind => `${kind}/sluice-start-gate`));
  await kubectl('-n', 'sluice', 'delete', 'serviceaccount/sluice');
  await expect(installByHelm()).rejects.toThrow(/sluice-cleaner of an earlier removal still waits for nodes/);
  expectClean(await uninstallFromAllNodes());
});

test('after somebody deleted the agents, their manifests are enough', async () => {
  await installByKustomize();
  await kubectl('-n', 'sluice', 'delete', 'daemonset/sluice');
  expectClean(await uninstallFromAllNodes('-f', manifests));
  await expectNothingLeft();
});

test('a removal in the middle of a rolling update', async () => {
  await installByKustomize();
  const before = await namesOfAgents();
  await kubectl('-n', 'sluice', 'rollout', 'restart', 'daemonset/sluice');
  await until('an agent makes room for the next', async () => {
    const names = await namesOfAgents();
    return before.every(name => names.includes(name)) ? undefined : true;
  });
  expectClean(await uninstallFromAllNodes());
  await expectNothingLeft();
});

test('cleaners that cannot start are named with their reason, and no node is called clean', async () => {
  await installByKustomize();
  const container = { name: 'agent', image: 'sluice:none', imagePullPolicy: 'Never' };
  const spec = {
    updateStrategy: { type: 'OnDelete', rollingUpdate: null },
    template: { spec: { containers: [container] } },
  };
  await kubectl('-n', 'sluice', 'patch', 'daemonset/sluice', '-p', JSON.stringify({ spec }));
  const missing = nodes.map(node => `${node} \\(ErrImageNeverPull\\)`).join(', ');
  const named = new RegExp(`^0 nodes clean: none\nnot clean yet: ${missing}\n`);
  const { code, stdout } = await removalSaying(named);
  expect(stdout).toMatch(named);
  expect(code).toBe(1);
  expectClean(await uninstallFromAllNodes('-f', manifests));
  await expectNothingLeft();
});

test('nor where the namespace has no room for their pods', async () => {
  await installByKustomize();
  const quota = {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'none', namespace: 'sluice' },
    spec: { hard: { pods: '0' } },
  };
  await create(quota);
  try {
    await until('the quota counts', async () => {
      const { body } = await call('GET', '/api/v1/namespaces/sluice/resourcequotas/none');
      return body.status?.used?.pods === undefined ? undefined : true;
    });
    const counted = /^0 nodes clean: none\nnot clean yet: \d nodes \(no pod: "kubectl describe daemonset/;
    const { code, stdout } = await removalSaying(counted);
    expect(stdout).toMatch(counted);
    expect(code).toBe(1);
  } finally {
    await remove(quota);
  }
  expectClean(await uninstallFromAllNodes());
  await expectNothingLeft();
});
