import { expect, test } from 'vitest';
import { podSelectorText } from '../../../model/selector.ts';
import { foreignPolicyOf } from './foreignpolicies.ts';

const CALICO = 'projectcalico.org/v3';
const CILIUM = 'cilium.io/v2';

test.each<[apiVersion: string, kind: string, spec: object, subjects: string[]]>([
  [
    CILIUM,
    'CiliumNetworkPolicy',
    { endpointSelector: { matchLabels: { app: 'a', 'k8s:tier': 'b', 'any:x': 'y' } } },
    ['pods app=a,tier=b,x=y in namespace shop'],
  ],
  [CILIUM, 'CiliumNetworkPolicy', { endpointSelector: {} }, ['all pods in namespace shop']],
  [
    CILIUM,
    'CiliumNetworkPolicy',
    { endpointSelector: { matchLabels: { 'reserved:health': '' } } },
    ['all pods in namespace shop'],
  ],
  [
    CILIUM,
    'CiliumClusterwideNetworkPolicy',
    {
      endpointSelector: {
        matchExpressions: [{ key: 'k8s:io.kubernetes.pod.namespace', operator: 'In', values: ['a', 'b'] }],
      },
    },
    ['all pods in namespaces kubernetes.io/metadata.name in (a, b)'],
  ],
  [
    CILIUM,
    'CiliumClusterwideNetworkPolicy',
    { endpointSelector: { matchLabels: { 'k8s:io.cilium.k8s.namespace.labels.team': 'x', app: 'a' } } },
    ['pods app=a in namespaces team=x'],
  ],
  [CILIUM, 'CiliumClusterwideNetworkPolicy', { nodeSelector: {} }, []],
  [CILIUM, 'CiliumLocalRedirectPolicy', {}, []],
  [
    CALICO,
    'NetworkPolicy',
    { selector: 'app == \'a\' && tier != "b" && has(x) && !has(y)' },
    ['pods app=a,tier!=b,x,!y in namespace shop'],
  ],
  [
    CALICO,
    'NetworkPolicy',
    { selector: "app in { 'a', \"b\" } && tier not in {'c'}" },
    ['pods app in (a, b),tier!=c in namespace shop'],
  ],
  [
    CALICO,
    'NetworkPolicy',
    { selector: "has(x) && app == 'a' || app == 'b'" },
    ['all pods in namespace shop'],
  ],
  [CALICO, 'NetworkPolicy', { selector: "!(app == 'a' && has(b))" }, ['all pods in namespace shop']],
  [CALICO, 'NetworkPolicy', {}, ['all pods in namespace shop']],
  [
    'crd.projectcalico.org/v1',
    'GlobalNetworkPolicy',
    { selector: "projectcalico.org/namespace == 'a' && app == 'b'" },
    ['pods app=b in namespaces kubernetes.io/metadata.name=a'],
  ],
  [
    CALICO,
    'GlobalNetworkPolicy',
    { namespaceSelector: "projectcalico.org/name == 'a' && team == 'b'", selector: 'all()' },
    ['all pods in namespaces kubernetes.io/metadata.name=a,team=b'],
  ],
  [CALICO, 'StagedNetworkPolicy', { selector: 'all()' }, []],
  [
    'crd.antrea.io/v1beta1',
    'ClusterNetworkPolicy',
    {
      appliedTo: [
        { podSelector: { matchLabels: { a: 'b' } } },
        { namespaceSelector: { matchLabels: { c: 'd' } } },
      ],
    },
    ['pods a=b in all namespaces', 'all pods in namespaces c=d'],
  ],
  ['crd.antrea.io/v1beta1', 'NetworkPolicy', {}, ['all pods in namespace shop']],
  ['k8s.ovn.org/v1', 'EgressFirewall', {}, ['all pods in namespace shop']],
  ['network.openshift.io/v1', 'EgressNetworkPolicy', {}, ['all pods in namespace shop']],
  [
    'k8s.cni.cncf.io/v1beta1',
    'MultiNetworkPolicy',
    { podSelector: { matchLabels: { a: 'b' } } },
    ['pods a=b in namespace shop'],
  ],
  [
    'security.istio.io/v1',
    'AuthorizationPolicy',
    { selector: { matchLabels: { a: 'b' } } },
    ['pods a=b in namespace shop'],
  ],
  ['security.istio.io/v1', 'AuthorizationPolicy', {}, ['all pods in namespace shop']],
])('%s %s %j may isolate %j', (apiVersion, kind, spec, subjects) => {
  const found = foreignPolicyOf({ apiVersion, kind, metadata: { name: 'p', namespace: 'shop' }, spec });
  expect(found?.subjects.map(podSelectorText)).toEqual(subjects);
});

test('an AuthorizationPolicy of the root namespace is about the mesh, and several specs of Cilium about all of them', () => {
  const metadata = { name: 'p', namespace: 'istio-system' };
  const istio = foreignPolicyOf({
    apiVersion: 'security.istio.io/v1',
    kind: 'AuthorizationPolicy',
    metadata,
  });
  expect(istio?.subjects.map(podSelectorText)).toEqual(['all pods in all namespaces']);
  const specs = [{ endpointSelector: { matchLabels: { a: 'b' } } }, { endpointSelector: {} }];
  const cilium = foreignPolicyOf({ apiVersion: CILIUM, kind: 'CiliumNetworkPolicy', metadata, specs });
  expect(cilium?.subjects).toHaveLength(2);
  expect([istio?.id, cilium?.id]).toEqual([
    'AuthorizationPolicy istio-system/p',
    'CiliumNetworkPolicy istio-system/p',
  ]);
});

test.each([
  ['networking.k8s.io/v1', 'NetworkPolicy'],
  ['policy.networking.k8s.io/v1alpha1', 'AdminNetworkPolicy'],
  [CILIUM, 'CiliumNode'],
  ['security.istio.io/v1', 'PeerAuthentication'],
])('%s %s is none', (apiVersion, kind) => {
  expect(foreignPolicyOf({ apiVersion, kind, metadata: { name: 'p' } })).toBeUndefined();
});
