/** Who may write the annotation by which a pod starts before its rules, on a real API server. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { until } from '../../support/until.ts';
import type { Manifest } from './api.ts';
import { namespace, pod } from './objects.ts';
import { Storm } from './storm.ts';

const POLICY = join(import.meta.dirname, '../../../daemonset/base/startgate.yaml');
const KEY = 'tolerate-missing-plugins.noderesource.dev';
const MERGE = 'application/merge-patch+json';

let storm: Storm;
let count = 0;

/** A pod of that namespace, which no node has yet. */
function podWith(where: string, annotations: object, name = `p${++count}`): Manifest {
  const { spec, metadata, status: _, ...type } = pod(`${where}/${name}`, { node: '', ips: [] });
  return { ...type, metadata: { ...metadata, annotations }, spec };
}

const send = async (method: string, path: string, body: object, type?: string) =>
  (await storm.api.try(method, path, body, type)).code;
const create = (object: Manifest) =>
  send('POST', `/api/v1/namespaces/${object.metadata.namespace}/pods`, object);
const patch = ({ metadata }: Manifest, annotations: object, subresource = '') =>
  send(
    'PATCH',
    `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}${subresource}`,
    { metadata: { annotations } },
    MERGE,
  );

/** Made before there was a policy. */
const old = podWith('tenant', { [KEY]: 'false' }, 'old');

beforeAll(async () => {
  storm = await Storm.begin();
  await storm.api.apply(namespace('tenant'));
  expect(await create(old)).toBe(201);
  for (const document of parseAllDocuments(readFileSync(POLICY, 'utf8')))
    await storm.api.apply(document.toJS() as Manifest);
  await until(
    'the policy is enforced',
    async () => (await create(podWith('tenant', { [KEY]: 'true' }))) === 403,
  );
});

afterAll(() => storm?.end());

describe.each([
  ['the whole pod', KEY],
  ['the whole pod, said at length', `${KEY}/pod`],
  ['one container', `${KEY}/container.c`],
])('the annotation for %s', (_, key) => {
  test.each(['sluice', 'kube-system'])('is taken in namespace %s', async where => {
    expect(await create(podWith(where, { [key]: 'true' }))).toBe(201);
  });

  test('is refused elsewhere: with a new pod, in one that is there, by its status, by a binding', async () => {
    const plain = podWith('tenant', {});
    expect(await create(plain)).toBe(201);
    expect(await create(podWith('tenant', { [key]: 'true' }))).toBe(403);
    expect(await patch(plain, { [key]: 'true' })).toBe(403);
    expect(await patch(plain, { [key]: 'true' }, '/status')).toBe(403);
    const { name } = plain.metadata;
    const binding = {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name, namespace: 'tenant', annotations: { [key]: 'true' } },
      target: { apiVersion: 'v1', kind: 'Node', name: 'n1' },
    };
    expect(await send('POST', `/api/v1/namespaces/tenant/pods/${name}/binding`, binding)).toBe(403);
    expect(await send('POST', '/api/v1/namespaces/tenant/bindings', binding)).toBe(403);
    const without = { ...binding, metadata: { name, namespace: 'tenant' } };
    expect(await send('POST', `/api/v1/namespaces/tenant/pods/${name}/binding`, without)).toBe(201);
  });
});

test('other pods are nobody’s concern, with annotations of other names and without any', async () => {
  expect(
    await create(podWith('tenant', { 'tolerate-missing-plugins.example': 'true', [`x.${KEY}`]: 'true' })),
  ).toBe(201);
  const { metadata, ...plain } = podWith('tenant', {});
  const { annotations: _, ...bare } = metadata;
  const without = { ...plain, metadata: bare };
  expect(await create(without)).toBe(201);
  expect(await patch(without, { note: 'later' })).toBe(200);
});

test('a pod that has it may keep it as it is, and may be edited, but not made to tolerate more', async () => {
  expect(await patch(old, { note: 'edited' })).toBe(200);
  expect(await patch(old, { [KEY]: 'true' })).toBe(403);
  expect(await patch(old, { [`${KEY}/pod`]: 'true' })).toBe(403);
  expect(await patch(old, { [KEY]: null })).toBe(200);
  expect(await patch(old, { [KEY]: 'false' })).toBe(403);
});
