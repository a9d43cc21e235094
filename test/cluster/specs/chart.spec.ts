/**
 * Every value of the chart, rendered by helm, and every overlay, rendered by kubectl, judged by the API server, which
 * changes nothing (a server dry run).
 */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EACH_VALUE, valueFlags } from '../../chart/eachvalue.ts';
import { create, remove } from './support/api.ts';
import { tryKubectl, until } from './support/cluster.ts';
import { CHART, helm } from './support/installs.ts';

/** Of the Prometheus operator's definitions what the API server needs to take an object; their schemas are not here. */
const DEFINITIONS = ['PodMonitor', 'PrometheusRule'].map(kind => {
  const singular = kind.toLowerCase();
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${singular}s.monitoring.coreos.com` },
    spec: {
      group: 'monitoring.coreos.com',
      scope: 'Namespaced',
      names: { kind, plural: `${singular}s`, singular, listKind: `${kind}List` },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  };
});

/** A dry run makes none, and the API server takes no pod whose ServiceAccount is not there. */
const REMOVER = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name: 'sluice-removal', namespace: 'sluice' },
};

const folder = mkdtempSync(join(tmpdir(), 'chart-'));
beforeAll(async () => {
  await create(REMOVER);
  for (const definition of DEFINITIONS) {
    await create(definition);
    const { name } = definition.metadata;
    await until(`${name} are served`, async () =>
      (await tryKubectl('get', name)).code === 0 ? true : undefined,
    );
  }
});
afterAll(async () => {
  for (const object of [REMOVER, ...DEFINITIONS]) await remove(object);
  rmSync(folder, { recursive: true });
});

async function applied(name: string, flags: readonly string[]) {
  const { code, stdout, stderr } = await helm('template', 'sluice', CHART, ...flags);
  expect(stderr).toBe('');
  expect(code).toBe(0);
  const file = join(folder, `${name}.yaml`);
  writeFileSync(file, stdout);
  return tryKubectl(
    'apply',
    '--dry-run=server',
    '--server-side',
    '--force-conflicts',
    '-n',
    'sluice',
    '-f',
    file,
  );
}

const RENDERINGS: readonly (readonly [string, readonly string[]])[] = [
  ['its defaults', []],
  ['chained', ['--set', 'podNetwork.mode=chained']],
  ...Object.keys(EACH_VALUE).map(path => [path, valueFlags(path)] as const),
];

describe('the API server takes the chart', () => {
  test.each(RENDERINGS)('with %s', async (name, flags) => {
    const { code, stdout, stderr } = await applied(name, flags);
    expect(code, stderr).toBe(0);
    expect(stdout).toContain('daemonset.apps/sluice serverside-applied (server dry run)');
  });

  test('and says what is wrong with a value that no schema of ours can know', async () => {
    const { code, stderr } = await applied('wrong', ['--set-json', 'resources={"limits":{"memory":"lots"}}']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/lots|quantit/);
  });
});

const OVERLAYS = join(CHART, '../../daemonset/overlays');

test.each(readdirSync(OVERLAYS))('the API server takes daemonset/overlays/%s', async overlay => {
  const { code, stdout, stderr } = await tryKubectl(
    'apply',
    '--dry-run=server',
    '-k',
    join(OVERLAYS, overlay),
  );
  expect(code, stderr).toBe(0);
  expect(stdout).toMatch(/daemonset\.apps\/sluice (configured|created|unchanged) \(server dry run\)/);
});
