import { expect, test } from 'vitest';
import { ManifestCollector } from '../inputs/files/load.ts';
import { foreignNotes } from './foreignnotes.ts';

const deployment = (app: string, more = '') =>
  `{ apiVersion: apps/v1, kind: Deployment, metadata: { name: ${app}, namespace: shop }, spec: { template: { metadata: { labels: { app: ${app} } }, spec: { containers: []${more} } } } }`;
const cilium = (name: string, app: string) =>
  `{ apiVersion: cilium.io/v2, kind: CiliumNetworkPolicy, metadata: { name: ${name}, namespace: shop }, spec: { endpointSelector: { matchLabels: { app: ${app} } } } }`;

function notes(...texts: string[]) {
  const collector = new ManifestCollector();
  const workloads = [deployment('web'), deployment('db'), deployment('exporter', ', hostNetwork: true')];
  collector.put('a', collector.read([...workloads, ...texts].join('\n---\n'), 'a'));
  return foreignNotes(collector.loaded());
}

test('a policy of another engine is named with whom it may isolate, and not where that is nobody', () => {
  expect(notes(cilium('lock', 'web'), cilium('other', 'front'), cilium('node', 'exporter'))).toEqual([
    'not read: CiliumNetworkPolicy shop/lock (Cilium): it may isolate shop/web',
  ]);
});

test('one of many namespaces may isolate where labels are not known', () => {
  const istio =
    '{ apiVersion: security.istio.io/v1, kind: AuthorizationPolicy, metadata: { name: mesh, namespace: istio-system } }';
  const antrea =
    '{ apiVersion: crd.antrea.io/v1beta1, kind: ClusterNetworkPolicy, metadata: { name: tenants }, spec: { appliedTo: [{ namespaceSelector: { matchLabels: { team: a } } }] } }';
  expect(notes(istio, antrea)).toEqual([
    'not read: AuthorizationPolicy istio-system/mesh (Istio): it may isolate shop/db, shop/web',
    'not read: ClusterNetworkPolicy tenants (Antrea): it may isolate shop/db, shop/web',
  ]);
});

test('of very many only the first are named', () => {
  const many = Array.from({ length: 20 }, (_, i) => cilium(`p${i}`, 'web'));
  expect(notes(...many)).toHaveLength(9);
  expect(notes(...many).at(-1)).toBe('not read either: 12 more policies of other engines');
  const nobody = Array.from({ length: 501 }, (_, i) => cilium(`p${i}`, 'front'));
  expect(notes(...nobody)).toEqual(['not read either: 1 more policy of other engines']);
});
