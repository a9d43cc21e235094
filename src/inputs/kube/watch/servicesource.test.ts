import { expect, test } from 'vitest';
import type { ServiceKey } from '../../../model/service.ts';
import type { SourceStatus } from './clusterfeed.ts';
import { ServiceSource } from './servicesource.ts';

function site() {
  const known = new Map<ServiceKey, readonly string[]>();
  const states: SourceStatus[] = [];
  const source = new ServiceSource({
    put: ({ key, clusterIps }) => void known.set(key, clusterIps),
    delete: key => void known.delete(key),
    keys: () => known.keys(),
    onSource: status => void states.push(status),
  });
  return { known, states, source };
}

const service = (name: ServiceKey, clusterIP: unknown) => ({
  type: 'upsert' as const,
  name,
  object: {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: name.split('/')[0], name: name.split('/')[1] },
    spec: { clusterIP, ports: [{ port: 80 }] },
  },
});

test('Services are known as long as the server has them, and a list says which have gone meanwhile', () => {
  const { known, source } = site();
  source.startReplace();
  source.apply([service('shop/web', '10.96.0.1'), service('shop/db', '10.96.0.2'), { type: 'replaced' }]);
  source.apply([{ type: 'delete', name: 'shop/db', object: {} }]);
  expect([...known]).toEqual([['shop/web', ['10.96.0.1']]]);
  source.startReplace();
  source.apply([service('shop/api', '10.96.0.3')]);
  expect(known.has('shop/web')).toBe(true);
  source.apply([{ type: 'replaced' }]);
  expect([...known.keys()]).toEqual(['shop/api']);
});

test.each([[null], [[]], ['\u001b[31m'], [{ a: 1 }]])(
  'a Service whose address is %j names nothing',
  address => {
    const { known, source } = site();
    source.apply([service('shop/web', '10.96.0.1')]);
    source.apply([service('shop/web', address)]);
    expect(known.get('shop/web') ?? []).toEqual([]);
  },
);

test('what has no name that the server would take is nothing', () => {
  const { known, source } = site();
  source.apply([service('shop/\u001b[31m', '10.96.0.1')]);
  expect(known.size).toBe(0);
});

test('a source that may not be read says why, and that it can be read again', () => {
  const { states, source } = site();
  source.setHealth(false, new Error('forbidden'));
  source.setHealth(true);
  expect(states.map(({ state }) => state)).toEqual(['lost', 'synced']);
});
