import { describe, expect, test } from 'vitest';
import { clusterView } from '../../../../test/support/questions/clusterview.ts';
import { answer } from '../../../answers/questions/answer.ts';
import { decodeInventory } from './inventory.ts';

const metadata = { name: 'web', namespace: 'shop' };
const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c' }] } };
const read = (apiVersion: string, kind: string, spec: object) =>
  decodeInventory({ apiVersion, kind, metadata, spec }).item;

test.each<[string, string, object, object]>([
  ['argoproj.io/v1alpha1', 'Rollout', { replicas: 3, template }, { labels: { app: 'web' }, replicas: 3 }],
  ['apps.kruise.io/v1alpha1', 'CloneSet', { template }, { labels: { app: 'web' } }],
  [
    'apps.openshift.io/v1',
    'DeploymentConfig',
    { template },
    { labels: { app: 'web', deploymentconfig: 'web' } },
  ],
  [
    'serving.knative.dev/v1',
    'Service',
    { template: { spec: { containers: [] } } },
    { labels: { 'serving.knative.dev/service': 'web', 'serving.knative.dev/configuration': 'web' } },
  ],
  [
    'kubevirt.io/v1',
    'VirtualMachine',
    { template: { metadata: template.metadata, spec: { domain: {} } } },
    { labels: { app: 'web', 'kubevirt.io': 'virt-launcher', 'vm.kubevirt.io/name': 'web' } },
  ],
])('%s %s is a workload by its template', (apiVersion, kind, spec, expected) => {
  const value = {
    id: `${kind} shop/web`,
    kind,
    namespace: 'shop',
    name: 'web',
    hostNetwork: false,
    ports: [],
    ...expected,
  };
  expect(read(apiVersion, kind, spec)).toEqual({ type: 'workload', value });
});

test.each<[string, string, object]>([
  ['monitoring.coreos.com/v1', 'Prometheus', {}],
  ['monitoring.coreos.com/v1', 'Alertmanager', { replicas: 3 }],
  ['kafka.strimzi.io/v1beta2', 'Kafka', { kafka: { replicas: 3 } }],
  ['argoproj.io/v1alpha1', 'Workflow', { templates: [{ name: 'a', container: { image: 'b' } }] }],
  // Its pods have labels that only the controller knows.
  ['example.org/v1', 'Thing', { template: { spec: { containers: [] } } }],
])('%s %s makes pods that are not read', (apiVersion, kind, spec) => {
  expect(read(apiVersion, kind, spec)).toEqual({
    type: 'podMaker',
    value: { kind, namespace: 'shop', name: 'web' },
  });
});

test.each<[string, string, object]>([
  ['monitoring.coreos.com/v1', 'ServiceMonitor', { selector: {} }],
  ['autoscaling/v2', 'HorizontalPodAutoscaler', { maxReplicas: 3, replicas: 1 }],
  ['apiextensions.k8s.io/v1', 'CustomResourceDefinition', { versions: [{ replicas: 1 }] }],
  ['example.org/v2', 'OtherNetworkPolicy', { containers: [] }],
  ['v1', 'ConfigMap', { replicas: 1 }],
])('%s %s makes no pods', (apiVersion, kind, spec) => {
  expect(read(apiVersion, kind, spec)).toBeUndefined();
});

test('an object of any size is looked at in part', () => {
  const rules = Array.from({ length: 100_000 }, () => ({ alert: { a: { b: [1, 2] } } }));
  expect(
    read('monitoring.coreos.com/v1', 'PrometheusRule', { groups: [{ rules }, { replicas: 1 }] }),
  ).toBeUndefined();
});

describe('explain', () => {
  const known = clusterView(
    [
      '{ apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: { name: web, namespace: shop }, spec: { template: { metadata: { labels: { app: web } }, spec: { containers: [{ name: c, ports: [{ name: http, containerPort: 8080 }] }] } } } }',
      '{ apiVersion: serving.knative.dev/v1, kind: Service, metadata: { name: fn, namespace: shop }, spec: { template: { spec: { containers: [{ name: c }] } } } }',
      '{ apiVersion: monitoring.coreos.com/v1, kind: Prometheus, metadata: { name: k8s, namespace: shop }, spec: {} }',
      '{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: web, namespace: shop }, spec: { podSelector: { matchLabels: { app: web } }, ingress: [{ from: [{ podSelector: { matchLabels: { serving.knative.dev/service: fn } } }], ports: [{ port: http }] }] } }',
    ].join('\n---\n'),
  );

  test.each([
    ['shop/ksvc/fn', 'shop/rollout/web:http', 'allow'],
    ['ksvc/fn', 'rollout/web:8080', 'allow'],
    ['shop/ksvc/fn', 'shop/rollouts.argoproj.io/web:9090', 'deny'],
    ['shop/app=other', 'shop/Rollout/web:http', 'deny'],
  ])('knows a workload by its kind: %s -> %s', (from, to, verdict) => {
    expect(answer(known, { from, to }).verdict).toBe(verdict);
  });

  test('says what it does not read, and which kinds there are none of', () => {
    const ask = (to: string) => answer(known, { from: 'shop/app=x', to });
    expect(() => ask('shop/prometheus/k8s:9090')).toThrow('the pods that a Prometheus makes are not read');
    expect(() => ask('shop/rollout/api:80')).toThrow('there is no Rollout shop/api');
    expect(() => ask('shop/thing/web:80')).toThrow('there is no workload of a kind thing');
    expect(() => ask('thing/web:80')).toThrow('there is no pod thing/web');
  });
});
