/** What a token of the agent that attaches pods may write, where somebody took it from a node. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { conditionPatch } from '../../../src/inputs/kube/report/conditionwriter.ts';
import { until } from '../../support/until.ts';
import type { Manifest } from './api.ts';
import { Storm } from './storm.ts';

const POLICY = join(import.meta.dirname, '../../../daemonset/overlays/pod-network/nodestatus.yaml');
const USER = 'system:serviceaccount:sluice:sluice';
const NODE_CLAIM = 'Impersonate-Extra-authentication.kubernetes.io%2Fnode-name';
const MINE = conditionPatch({ reason: 'Test', message: 'full' }, new Date(0), new Date(0));

let storm: Storm;

/** The code of the answer to a patch of a Node's status, by the token of a pod on `node`. */
async function patched(name: string, patch: object, node?: string): Promise<number> {
  const claim = node === undefined ? {} : { [NODE_CLAIM]: node };
  const api = storm.plane.apiAs({ 'Impersonate-User': USER, ...claim });
  const { code } = await api.try(
    'PATCH',
    `/api/v1/nodes/${name}/status`,
    patch,
    'application/strategic-merge-patch+json',
  );
  api.close();
  return code;
}

beforeAll(async () => {
  storm = await Storm.begin();
  for (const name of ['victim', 'own'])
    await storm.api.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name } });
  const rules = [{ apiGroups: [''], resources: ['nodes/status'], verbs: ['patch'] }];
  const rbac = 'rbac.authorization.k8s.io';
  const metadata = { name: 'node-status' };
  const roleRef = { apiGroup: rbac, kind: 'ClusterRole', name: 'node-status' };
  const subjects = [{ kind: 'ServiceAccount', name: 'sluice', namespace: 'sluice' }];
  await storm.api.apply({ apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata, rules });
  await storm.api.apply({
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRoleBinding',
    metadata,
    roleRef,
    subjects,
  });
  expect(await patched('victim', MINE, 'own')).toBe(200);
  for (const document of parseAllDocuments(readFileSync(POLICY, 'utf8')))
    await storm.api.apply(document.toJS() as Manifest);
  await until('the policy is enforced', async () => (await patched('victim', MINE, 'own')) === 422);
});

afterAll(() => storm?.end());

test('the condition of its own Node can be written, and changed', async () => {
  expect(await patched('own', MINE, 'own')).toBe(200);
  expect(await patched('own', conditionPatch(undefined, new Date(0), new Date(1e12)), 'own')).toBe(200);
});

test('no other Node can, nor any by a token that names no node', async () => {
  expect(await patched('victim', MINE, 'own')).toBe(422);
  expect(await patched('own', MINE)).toBe(422);
});

test.each([
  ['another condition', { conditions: [{ type: 'Ready', status: 'False' }] }],
  ['an address', { addresses: [{ type: 'ExternalIP', address: '192.0.2.1' }] }],
  ['capacity', { capacity: { 'example.com/gpu': '8' } }],
  ["the kubelet's port", { daemonEndpoints: { kubeletEndpoint: { Port: 1 } } }],
  ['images', { images: [{ names: ['example.com/image'] }] }],
])('%s of its own Node cannot be written', async (_, status) => {
  expect(await patched('own', { status }, 'own')).toBe(422);
});
