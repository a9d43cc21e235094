import { hash } from 'node:crypto';
import fc from 'fast-check';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { apiClusterPolicy } from '../../../../test/support/api/objects.ts';
import { runs } from '../../../../test/support/seed.ts';
import { jsonLines } from '../client/jsonlines.ts';
import { decodeDelivered } from '../decode/decode.ts';
import { Objects } from './objects.ts';
import { CUSTOM_POLICIES, customResource, NODES, PODS } from './resource.ts';

vi.mock(import('node:crypto'), { spy: true });
vi.mock(import('../decode/decode.ts'), { spy: true });
beforeEach(() => {
  vi.clearAllMocks();
});

const RESOURCE = customResource(CUSTOM_POLICIES[0]!, 'v1beta1');

function policy(
  name: string,
  resourceVersion: string,
  apiVersion = 'policy.networking.k8s.io/v1beta1',
): object {
  const object = apiClusterPolicy(name, 5);
  return { ...object, apiVersion, metadata: { ...object.metadata, resourceVersion } };
}

const keys = (events: readonly { readonly key: string }[]) => events.map(({ key }) => key);

test('clear() takes away what went with the definition, and nothing that came with the next one', () => {
  const objects = new Objects(RESOURCE);
  objects.upsert('old', policy('old', '9'));
  objects.upsert('young', policy('young', '100'));
  expect(keys(objects.clear('99'))).toEqual(['ClusterNetworkPolicy old']);
  expect(keys(objects.clear('unknown'))).toEqual(['ClusterNetworkPolicy young']);
  expect(objects.clear()).toEqual([]);
});

test('upsert() reads an unknown version as the one that it is told to', () => {
  const objects = new Objects(customResource(CUSTOM_POLICIES[0]!, 'v2', 'v1beta1'));
  expect(keys(objects.upsert('a', policy('a', '1', 'policy.networking.k8s.io/v2')))).toEqual([
    'ClusterNetworkPolicy a',
  ]);
  expect(objects.problems).toEqual([]);
});

/** A Node as a kubelet writes it every five minutes. */
function node(
  revision: number,
  said: { readonly address?: string; readonly beat?: number; readonly annotations?: object },
): object {
  const { address = '10.0.0.1', beat = revision, annotations } = said;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n1', resourceVersion: String(revision), managedFields: [{ time: beat }], annotations },
    spec: { podCIDR: '10.1.0.0/24', podCIDRs: ['10.1.0.0/24'] },
    status: {
      addresses: [{ type: 'InternalIP', address }],
      conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: beat }],
      images: [{ names: ['registry/app'], sizeBytes: beat }],
    },
  };
}

/** What policy reads of that Node, as it is hashed. */
const HASHED = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n1' },
  spec: { podCIDR: '10.1.0.0/24', podCIDRs: ['10.1.0.0/24'] },
  status: { addresses: [{ type: 'InternalIP', address: '10.0.0.1' }] },
});

describe('what is read of an object', () => {
  test('is decoded once more when it comes again, and no more for a hundred heartbeats', () => {
    const objects = new Objects(NODES);
    expect(objects.upsert('n1', node(1, {}))).toHaveLength(1);
    for (let beat = 2; beat <= 102; beat++) expect(objects.upsert('n1', node(beat, {}))).toEqual([]);
    expect(decodeDelivered).toHaveBeenCalledTimes(2);
    expect(objects.upsert('n1', node(103, { address: '10.0.0.2' }))).toHaveLength(1);
    expect(objects.upsert('n1', node(104, { address: '10.0.0.1' }))).toHaveLength(1);
    expect(decodeDelivered).toHaveBeenCalledTimes(4);
  });

  test('is decoded again when an annotation names a tunnel address, and not for other annotations (N75)', () => {
    const objects = new Objects(NODES);
    for (const revision of [1, 2]) objects.upsert('n1', node(revision, {}));
    expect(objects.upsert('n1', node(3, { annotations: { ttl: '0' } }))).toEqual([]);
    const annotations = { 'network.cilium.io/ipv4-cilium-host': '10.1.0.7' };
    expect(objects.upsert('n1', node(4, { annotations }))).toHaveLength(1);
  });

  test('is parsed once at each heartbeat, and hashed without the images, conditions and times of the node', async () => {
    const objects = new Objects(NODES);
    for (const revision of [1, 2]) objects.upsert('n1', node(revision, {}));
    vi.clearAllMocks();
    const parse = vi.spyOn(JSON, 'parse');
    const lines = Array.from(
      { length: 100 },
      (_, i) => `${JSON.stringify(node(i + 3, { beat: 10 ** i }))}\n`,
    );
    const body = async function* () {
      for (const line of lines) yield Buffer.from(line);
    };
    for await (const values of jsonLines(body(), NODES.shape ?? 'all'))
      for (const value of values) expect(objects.upsert('n1', value)).toEqual([]);
    expect(parse.mock.calls.map(([text]) => text)).toEqual(lines.map(line => line.trimEnd()));
    const hashed = vi.mocked(hash).mock.calls.map(([, data]) => String(data));
    expect(hashed).toHaveLength(lines.length);
    expect(new Set(hashed)).toEqual(new Set([HASHED]));
    expect(decodeDelivered).not.toHaveBeenCalled();
  });

  test('is decoded again as another resource, and when it comes back', () => {
    const objects = new Objects(NODES);
    for (const revision of [1, 2, 3]) objects.upsert('n1', node(revision, {}));
    objects.setResource(NODES);
    objects.upsert('n1', node(4, {}));
    expect(decodeDelivered).toHaveBeenCalledTimes(3);
    objects.delete('n1');
    expect(objects.upsert('n1', node(5, {}))).toHaveLength(1);
  });

  test('says as much as if every change was decoded', () => {
    const part = fc.record(
      {
        phase: fc.constantFrom('Pending', 'Running', 'Succeeded'),
        podIP: fc.constantFrom('10.1.0.1', '10.1.0.2', 'none'),
        app: fc.constantFrom('web', 'db', 7, '!'),
        node: fc.constantFrom('n1', 'n2'),
        apiVersion: fc.constantFrom('v1', 'v1', 'v1', 'v2'),
        ready: fc.boolean(),
      },
      { requiredKeys: ['phase'] },
    );
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 12 }), parts => {
        const objects = new Objects(PODS);
        let said = '';
        for (const [i, { phase, podIP, app, node: nodeName, apiVersion = 'v1', ready }] of parts.entries()) {
          const pod = {
            apiVersion,
            kind: 'Pod',
            metadata: { name: 'web', namespace: 'shop', resourceVersion: String(i + 1), labels: { app } },
            spec: { nodeName, containers: [] },
            status: { phase, podIP, conditions: [{ ready }] },
          };
          const { event, problems } = decodeDelivered(pod, PODS);
          const isNews = event !== undefined && JSON.stringify(event) !== said;
          if (isNews) said = JSON.stringify(event);
          expect(objects.upsert('shop/web', pod)).toEqual(isNews ? [event] : []);
          expect(objects.problems).toEqual(problems);
        }
      }),
      { numRuns: runs(2_000, 200) },
    );
  });
});
