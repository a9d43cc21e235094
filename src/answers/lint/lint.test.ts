import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { tenantPod } from '../../../test/support/agent/tenants.ts';
import { shopPolicy } from '../../../test/support/scenarios/shop.ts';
import { checkManifests, loadManifests } from '../../cli/sources/manifests.ts';
import { ClusterState } from '../../model/cluster.ts';
import { NO_INVENTORY } from '../../model/inventory.ts';
import { problemText } from '../../model/problem.ts';
import { lint } from './lint.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-lint-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const SHOP = '{ apiVersion: v1, kind: Namespace, metadata: { name: shop } }';
const WEB = pod('web', '10.0.0.1');
const SERVICE = '{ apiVersion: v1, kind: Service, metadata: { name: db }, spec: { clusterIP: 10.96.3.4 } }';
const RANGE =
  '{ apiVersion: networking.k8s.io/v1, kind: ServiceCIDR, metadata: { name: k }, spec: { cidrs: [10.96.0.0/12] } }';

test('a pod more is looked at a few times, however many policies select nobody', () => {
  const cluster = new ClusterState();
  let looks = 0;
  for (let i = 0; i < 500; i++) {
    const pod = tenantPod('shop', i, {});
    const getOwnPropertyDescriptor = (labels: Record<string, string>, key: PropertyKey) => {
      looks++;
      return Reflect.getOwnPropertyDescriptor(labels, key);
    };
    const value = { ...pod, labels: new Proxy({ app: `a${i}` }, { getOwnPropertyDescriptor }) };
    cluster.apply({ type: 'pod', key: pod.key, value });
  }
  const key = (operator: string) => ({ podSelector: { matchExpressions: [{ key: 'tier', operator }] } });
  for (let i = 0; i < 500; i++)
    cluster.apply(
      shopPolicy(`p${i}`, i === 0 ? key('Exists') : { podSelector: { matchLabels: { app: `b${i}` } } }),
    );
  expect(lint(cluster, NO_INVENTORY, []).filter(({ code }) => code === 'empty-subject')).toHaveLength(500);
  expect(looks).toBeLessThan(2_500);
});

test('a policy more is looked at a few times, however many others have labels that only pods elsewhere have', () => {
  const cluster = new ClusterState();
  for (let i = 0; i < 10; i++) {
    const pod = { ...tenantPod('pay', i, {}), labels: { app: `a${i}` } };
    cluster.apply({ type: 'pod', key: pod.key, value: pod });
  }
  const own = tenantPod('shop', 0, {});
  cluster.apply({ type: 'pod', key: own.key, value: own });
  let looks = 0;
  const counted = <T extends object, K extends keyof T>(object: T, key: K): T => {
    const value = object[key];
    const get = () => {
      looks++;
      return value;
    };
    return Object.defineProperty({ ...object }, key, { get, enumerable: true });
  };
  for (let i = 0; i < 500; i++) {
    const event = shopPolicy(`p${i}`, { podSelector: { matchLabels: { app: `a${i % 10}` } } });
    if (event.type !== 'policy' || event.value === undefined) throw new Error('it is a policy');
    const { subject } = event.value;
    const requirements = subject.pods.requirements.map(each => counted(each, 'values'));
    const value = counted({ ...event.value, subject: { ...subject, pods: { requirements } } }, 'tier');
    cluster.apply({ ...event, value });
  }
  looks = 0;
  expect(lint(cluster, NO_INVENTORY, []).filter(({ code }) => code === 'wrong-namespace')).toHaveLength(500);
  expect(looks).toBeLessThan(50 * 500);
});

describe('checkManifests() warns of', () => {
  test.each<[string, string[], string[]]>([
    [
      'nothing in a cluster that is well',
      [SHOP, WEB, policy('shop', '{ podSelector: { matchLabels: { app: web } } }')],
      [],
    ],
    [
      'a policy for a namespace that does not exist',
      [SHOP, policy('shpo', '{}')],
      [
        'a.yaml:2: NetworkPolicy shpo/p: metadata.namespace "shpo" does not exist; the policy selects no pod until it does',
      ],
    ],
    ['no namespace of a folder that has none', [policy('shpo', '{}')], []],
    [
      'a block of the address from which a node sends into its tunnel',
      [
        SHOP,
        WEB,
        "{ apiVersion: v1, kind: Node, metadata: { name: n2, annotations: { projectcalico.org/IPv4VXLANTunnelAddr: 10.244.2.0 } }, spec: { podCIDRs: [10.244.2.0/24] }, status: { addresses: [{ type: InternalIP, address: 172.18.0.2 }, { type: InternalIP, address: 'fd18::2' }] } }",
        policy(
          'shop',
          '{ podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr: 172.18.0.2/32 } }, { ipBlock: { cidr: 10.244.2.0/24 } }], ports: [{ port: 80 }] }, { from: [{ ipBlock: { cidr: 10.244.2.0/32 } }] }] }',
        ),
      ],
      [
        'a.yaml:4: NetworkPolicy shop/p: spec.ingress[1].from has 10.244.2.0/32, from which node n2 sends into its tunnel; a network with 172.18.0.2 means that too, and stays right when the node gets another pod network',
      ],
    ],
    [
      'a policy that selects none of the workloads',
      [SHOP, deployment('web'), policy('shop', '{ podSelector: { matchLabels: { app: wbe } } }')],
      [
        'a.yaml:3: NetworkPolicy shop/p: spec.podSelector selects none of the pods and workloads that are there (did you mean app=web?); the policy decides nothing',
      ],
    ],
    [
      'no policy that selects what a workload would make',
      [SHOP, WEB, deployment('api'), policy('shop', '{ podSelector: { matchLabels: { app: api } } }')],
      [],
    ],
    [
      'a policy that selects nobody, and what makes pods that are not read',
      [
        SHOP,
        WEB,
        '{ apiVersion: monitoring.coreos.com/v1, kind: Prometheus, metadata: { name: k8s, namespace: shop }, spec: {} }',
        '{ apiVersion: monitoring.coreos.com/v1, kind: Prometheus, metadata: { name: k9s, namespace: other }, spec: {} }',
        policy('shop', '{ podSelector: { matchLabels: { app: grafana } } }'),
      ],
      [
        'a.yaml:5: NetworkPolicy shop/p: spec.podSelector selects none of the pods and workloads that are there; the policy decides nothing, unless it means pods of Prometheus shop/k8s: how these are made is not read',
      ],
    ],
    [
      'no policy, and no peer, that seems to mean what such an object makes',
      [
        SHOP,
        WEB,
        '{ apiVersion: monitoring.coreos.com/v1, kind: Prometheus, metadata: { name: k8s, namespace: shop }, spec: {} }',
        policy(
          'shop',
          '{ podSelector: { matchLabels: { prometheus: k8s } }, ingress: [{ from: [{ podSelector: { matchLabels: { app.kubernetes.io/name: prometheus } } }] }] }',
        ),
      ],
      [],
    ],
    [
      'no policy that selects what a Rollout would make',
      [
        SHOP,
        WEB,
        deployment('api')
          .replace('apps/v1', 'argoproj.io/v1alpha1')
          .replace('Deployment', 'Rollout')
          .replace('} } } } }', '} }, spec: { containers: [] } } } }'),
        policy('shop', '{ podSelector: { matchLabels: { app: api } } }'),
      ],
      [],
    ],
    [
      'a policy whose pods are all on the network of their node',
      [
        SHOP,
        WEB,
        onNode(pod('exporter', '10.0.0.9')),
        policy('shop', '{ podSelector: { matchLabels: { app: exporter } } }'),
      ],
      [
        'a.yaml:4: NetworkPolicy shop/p: spec.podSelector selects only pods on the network of their node; policy does not select them, so this one decides nothing',
      ],
    ],
    [
      'a policy of all pods of a namespace that has only such workloads',
      [SHOP, onNode(deployment('exporter')), policy('shop', '{ podSelector: {} }')],
      [expect.stringContaining('spec.podSelector selects only pods on the network of their node')],
    ],
    [
      'a peer that only such pods match',
      [
        SHOP,
        WEB,
        onNode(deployment('exporter')),
        policy(
          'shop',
          '{ podSelector: {}, ingress: [{ from: [{ podSelector: {} }], ports: [{ port: 80 }] }, { from: [{ podSelector: { matchLabels: { app: exporter } } }] }], egress: [{ to: [{ namespaceSelector: {}, podSelector: { matchLabels: { app: exporter } } }] }] }',
        ),
      ],
      [
        'a.yaml:4: NetworkPolicy shop/p: spec.ingress[1].from has a peer of only pods on the network of their node; policy sees them as their nodes: name the addresses of the nodes',
        'a.yaml:4: NetworkPolicy shop/p: spec.egress[0].to has a peer of only pods on the network of their node; policy sees them as their nodes: name the addresses of the nodes',
      ],
    ],
    [
      'policies of other engines',
      [
        '{ apiVersion: cilium.io/v2, kind: CiliumNetworkPolicy, metadata: { name: a, namespace: shop } }',
        '{ apiVersion: crd.projectcalico.org/v1, kind: GlobalNetworkPolicy, metadata: { name: b } }',
        '{ apiVersion: crd.antrea.io/v1beta1, kind: ClusterNetworkPolicy, metadata: { name: c } }',
        '{ apiVersion: k8s.ovn.org/v1, kind: EgressFirewall, metadata: { name: d, namespace: shop } }',
        '{ apiVersion: cilium.io/v2, kind: CiliumNode, metadata: { name: e } }',
      ],
      [
        'a.yaml:1: CiliumNetworkPolicy shop/a: apiVersion is cilium.io/v2, a policy of Cilium; Sluice does not enforce it, and no answer knows of it',
        'a.yaml:2: GlobalNetworkPolicy b: apiVersion is crd.projectcalico.org/v1, a policy of Calico; Sluice does not enforce it, and no answer knows of it',
        'a.yaml:3: ClusterNetworkPolicy c: apiVersion is crd.antrea.io/v1beta1, a policy of Antrea; Sluice does not enforce it, and no answer knows of it',
        'a.yaml:4: EgressFirewall shop/d: apiVersion is k8s.ovn.org/v1, a policy of OVN-Kubernetes; Sluice does not enforce it, and no answer knows of it',
      ],
    ],
    ['no namespace that every cluster has', [policy('default', '{}'), policy('kube-system', '{}')], []],
    [
      'a pod without an address',
      [SHOP, pod('web', '').replace(', status', ', spec: { nodeName: n1 }, status')],
      ['a.yaml:2: Pod shop/web: status.podIPs holds no address; no policy selects the pod until it has one'],
    ],
    ['no pod that nothing runs yet', [SHOP, pod('web', '')], []],
    [
      'no pod that has finished',
      [
        SHOP,
        pod('web', '')
          .replace('Running', 'Succeeded')
          .replace(', status', ', spec: { nodeName: n1 }, status'),
      ],
      [],
    ],
    [
      'a policy that selects none of the pods of its namespace',
      [SHOP, WEB, policy('shop', '{ podSelector: { matchLabels: { app: wbe } } }')],
      [
        'a.yaml:3: NetworkPolicy shop/p: spec.podSelector selects none of the pods and workloads that are there (did you mean app=web?); the policy decides nothing',
      ],
    ],
    [
      'no policy of a namespace without pods',
      [SHOP, policy('shop', '{ podSelector: { matchLabels: { a: b } } }')],
      [],
    ],
    [
      '4.20: a network that covers the address of a Service',
      [SHOP, SERVICE, egress('10.96.0.0/16')],
      [
        'a.yaml:3: NetworkPolicy shop/p: spec.egress[0].to has the network 10.96.0.0/16, which covers the Service addresses 10.96.3.4/32; it matches no traffic to a Service: policy sees the address of the pod behind it',
      ],
    ],
    [
      '4.20: a network that lies in the range of Services',
      [SHOP, RANGE, egress('10.97.1.0/24')],
      [expect.stringContaining('10.97.1.0/24, which covers the Service addresses 10.96.0.0/12')],
    ],
    ['no network of the whole world', [SHOP, RANGE, SERVICE, egress('0.0.0.0/0')], []],
    ['no network beside the range of Services', [SHOP, RANGE, egress('10.112.0.0/16')], []],
    ['no headless Service', [SHOP, SERVICE.replace('10.96.3.4', 'None'), egress('10.96.0.0/16')], []],
    [
      '4.19, C12: cluster policies of one tier with one priority',
      [
        cnp('b', 'Admin', 5),
        cnp('a', 'Admin', 5),
        cnp('c', 'Admin', 6),
        cnp('d', 'Baseline', 5),
        anp('z', 5),
      ],
      [
        'a.yaml:2: ClusterNetworkPolicy a: spec.priority 5 in the admin tier is that of AdminNetworkPolicy z too; AdminNetworkPolicy z goes first, by kind and name',
        'a.yaml:1: ClusterNetworkPolicy b: spec.priority 5 in the admin tier is that of AdminNetworkPolicy z too; AdminNetworkPolicy z goes first, by kind and name',
      ],
    ],
  ])('%s', async (_, documents, expected) => {
    await writeFile(join(folder, 'a.yaml'), documents.map(document => `--- ${document}`).join('\n'));
    const { problems } = await checkManifests(folder, lint);
    expect(problems.map(problem => problemText(problem).replace(`${folder}/`, ''))).toEqual(expected);
    expect(problems.every(({ severity }) => severity === 'warning')).toBe(true);
    expect((await loadManifests(folder)).problems).toEqual([]);
  });
});

function pod(name: string, ip: string): string {
  const metadata = `{ name: ${name}, namespace: shop, labels: { app: ${name} } }`;
  return `{ apiVersion: v1, kind: Pod, metadata: ${metadata}, status: { phase: Running, podIP: "${ip}" } }`;
}

function onNode(object: string): string {
  return object.includes('template')
    ? object.replace(/( \}){3}$/, ', spec: { hostNetwork: true } } } }')
    : object.replace(', status', ', spec: { hostNetwork: true }, status');
}

function policy(namespace: string, spec: string): string {
  const type = 'apiVersion: networking.k8s.io/v1, kind: NetworkPolicy';
  return `{ ${type}, metadata: { name: p, namespace: ${namespace} }, spec: ${spec} }`;
}

function egress(network: string): string {
  return policy('shop', `{ egress: [{ to: [{ ipBlock: { cidr: ${network} } }] }] }`);
}

function cnp(name: string, tier: string, priority: number): string {
  const type = 'apiVersion: policy.networking.k8s.io/v1beta1, kind: ClusterNetworkPolicy';
  const spec = `{ tier: ${tier}, priority: ${priority}, subject: { namespaces: {} } }`;
  return `{ ${type}, metadata: { name: ${name} }, spec: ${spec} }`;
}

function anp(name: string, priority: number): string {
  const type = 'apiVersion: policy.networking.k8s.io/v1alpha1, kind: AdminNetworkPolicy';
  return `{ ${type}, metadata: { name: ${name} }, spec: { priority: ${priority}, subject: { namespaces: {} } } }`;
}

function deployment(name: string): string {
  return `{ apiVersion: apps/v1, kind: Deployment, metadata: { name: ${name}, namespace: shop }, spec: { template: { metadata: { labels: { app: ${name} } } } } }`;
}

test('checkManifests() shows all that is wrong at once: beside a document that cannot be read, and behind a bad name', async () => {
  const bad =
    '{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: a_b, namespace: shop }, spec: { podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr: x }, foo: 1 }] }] } }';
  await writeFile(join(folder, 'a.yaml'), `a: 1\na: 2\n---\n${bad}\n---\n[1\n`);
  const { problems } = await checkManifests(folder, lint);
  const texts = problems.map(problemText).map(text => text.replace(`${folder}/`, ''));
  expect(texts.map(text => text.split('; ')[0])).toEqual([
    'a.yaml:2: Map keys must be unique',
    expect.stringMatching(/^a\.yaml:4: NetworkPolicy shop\/a_b: metadata\.name "a_b" is not a name$/),
    expect.stringContaining('spec.ingress[0].from[0].foo is not a known field'),
    expect.stringContaining('spec.ingress[0].from[0].ipBlock.cidr "x" is not a network'),
    expect.stringMatching(/^a\.yaml:\d: Flow sequence/),
  ]);
  expect(texts.filter(text => /stays|last good/.test(text))).toEqual([]);
});
