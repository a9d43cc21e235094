import { expect, test } from 'vitest';
import type { Address } from '../../model/address.ts';
import type { Service, ServiceKey, ServicePort } from '../../model/service.ts';
import { ServiceNames } from './servicenames.ts';

const at = (text: string) => text as Address;
const WEB: ServicePort = { name: '', protocol: 'TCP', port: 80, target: 80, nodePort: 30_080 };

function service(key: ServiceKey, clusterIps: string[], externalIps: string[] = [], ports = [WEB]): Service {
  const [namespace, name] = key.split('/') as [string, string];
  const addresses = { clusterIps: clusterIps.map(at), externalIps: externalIps.map(at) };
  return { key, namespace, name, type: 'NodePort', headless: false, ports, ...addresses };
}

const named = (names: ServiceNames, address: string, port: number, isOfNode = false) =>
  names.of({ address: at(address), port, protocol: 'TCP', isOfNode });

test('a Service has its name by its ClusterIPs, by the addresses that it is given, and by its node ports', () => {
  const names = new ServiceNames();
  names.put(service('shop/web', ['10.96.0.1', 'fd96::1'], ['192.0.2.1']));
  expect(named(names, '10.96.0.1', 80)).toBe('shop/web');
  expect(named(names, 'fd96::1', 9)).toBe('shop/web');
  expect(named(names, '192.0.2.1', 80)).toBe('shop/web');
  expect(named(names, '192.0.2.1', 81)).toBeUndefined();
  expect(named(names, '172.18.0.2', 30_080, true)).toBe('shop/web');
  expect(named(names, '172.18.0.2', 30_080)).toBeUndefined();
});

test('who changes, or goes, leaves none of its names', () => {
  const names = new ServiceNames();
  names.put(service('shop/web', ['10.96.0.1'], ['192.0.2.1']));
  names.put(service('shop/web', ['10.96.0.2']));
  expect(named(names, '10.96.0.1', 80)).toBeUndefined();
  expect(named(names, '192.0.2.1', 80)).toBeUndefined();
  names.delete('shop/web');
  expect([named(names, '10.96.0.2', 80), names.size]).toEqual([undefined, 0]);
});

test('nobody takes the name of another: not of its ClusterIP, and what two claim has none', () => {
  const names = new ServiceNames();
  names.put(service('shop/web', ['10.96.0.1'], ['192.0.2.1']));
  names.put(service('evil/web', ['10.96.0.9'], ['10.96.0.1', '192.0.2.1']));
  expect(named(names, '10.96.0.1', 80)).toBe('shop/web');
  expect(named(names, '192.0.2.1', 80)).toBeUndefined();
  names.delete('evil/web');
  expect(named(names, '192.0.2.1', 80)).toBe('shop/web');
});

test('what is kept is bounded, of one Service and of all, and it is known that there are more', () => {
  const names = new ServiceNames(100);
  const many = Array.from({ length: 10_000 }, (_, i) => ({ ...WEB, port: i + 1, nodePort: i + 1 }));
  names.put(service('evil/a', ['10.96.0.9'], ['192.0.2.1'], many));
  names.put(service('evil/b', ['10.96.0.8'], ['192.0.2.2'], many));
  names.put(service('shop/web', ['10.96.0.1']));
  expect(named(names, '10.96.0.1', 80)).toBe('shop/web');
  expect(names.isFull).toBe(false);
  names.put(service('evil/c', ['10.96.0.7'], ['192.0.2.3'], many));
  expect([names.isFull, names.size]).toEqual([true, 3]);
});

test('there are more than are kept for as long as there are', () => {
  const names = new ServiceNames(2);
  for (const [at, name] of ['a', 'b', 'c', 'd'].entries())
    names.put(service(`shop/${name}`, [`10.96.0.${at}`], [], []));
  expect([names.isFull, names.size, [...names.keys()]]).toEqual([
    true,
    2,
    ['shop/a', 'shop/b', 'shop/c', 'shop/d'],
  ]);
  names.delete('shop/c');
  names.delete('shop/a');
  expect(names.isFull).toBe(true);
  names.put(service('shop/d', ['10.96.0.3'], [], []));
  expect([names.isFull, named(names, '10.96.0.3', 80)]).toEqual([false, 'shop/d']);
});
