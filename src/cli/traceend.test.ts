import { expect, test } from 'vitest';
import { address } from '../../bench/lab/topology.ts';
import { clusterView } from '../../test/support/questions/clusterview.ts';
import { DnsCache } from '../names/dnscache.ts';
import { traceEnd } from './traceend.ts';

const { cluster } = clusterView(
  '{ apiVersion: v1, kind: Pod, metadata: { name: web, namespace: shop }, status: { podIPs: [{ ip: 10.0.0.1 }, { ip: "fd00::1" }] } }',
);
const { cluster: there } = clusterView(
  '{ apiVersion: v1, kind: Pod, metadata: { name: far, namespace: shop }, spec: { nodeName: n2 }, status: { podIP: 10.2.0.1 } }',
);
const cache = new DnsCache();
cache.record([
  { pod: 'shop/web', name: 'example.org', address: address('192.0.2.7'), toldMs: 1, untilMs: 100 },
  { pod: 'shop/web', name: 'example.org', address: address('2001:db8::7'), toldMs: 2, untilMs: 100 },
]);
const known = { cache, nowMs: 50 };

test.each([
  ['shop/web', '[2001:db8::7]:443'],
  ['shop/web@4', '192.0.2.7:443'],
  ['10.0.0.1', '192.0.2.7:443'],
  ['fd00::1', '[2001:db8::7]:443'],
])('traceEnd() from %s takes what its pod was told', (from, text) => {
  expect(traceEnd(from, 'example.org:443', known, cluster).text).toBe(text);
});

test('traceEnd() says who was told nothing', () => {
  expect(() => traceEnd('10.0.0.1', 'example.net:443', known, cluster)).toThrow(
    'shop/web has received no DNS answer for example.net',
  );
});

test('traceEnd() says where the name is known, or why nobody could be asked', () => {
  const ask = (why?: string) => traceEnd('shop/web', 'example.org:443', undefined, cluster, why);
  expect(() => ask()).toThrow('known to the agent alone: ask without --manifests, or for an address');
  expect(() => ask('ask for an address; no agent on this node')).toThrow(
    /the agent alone: ask for an address; no agent on this node$/,
  );
});

test('traceEnd() of a pod of another node says whose agent knows what it was told', () => {
  const ask = (node: string) => traceEnd('shop/far', 'example.org:443', { ...known, node }, there);
  expect(() => ask('n1')).toThrow(
    'only the agent of n2 knows which DNS answers shop/far received: ask there',
  );
  expect(() => ask('n2')).toThrow('shop/far has received no DNS answer for example.org');
});
