import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { problemText } from '../model/problem.ts';
import { checkManifests, loadManifests } from './load.ts';

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

describe('checkManifests() warns of', () => {
  test.each<[string, string[], string[]]>([
    [
      'nothing in a cluster that is well',
      [SHOP, WEB, policy('shop', '{ podSelector: { matchLabels: { app: web } } }')],
      [],
    ],
    [
      'a policy for a namespace that does not exist',
      [policy('shpo', '{}')],
      [
        'a.yaml:1: NetworkPolicy shpo/p: metadata.namespace "shpo" does not exist; the policy selects no pod until it does',
      ],
    ],
    ['no namespace that every cluster has', [policy('default', '{}'), policy('kube-system', '{}')], []],
    [
      'a pod without an address',
      [SHOP, pod('web', '')],
      ['a.yaml:2: Pod shop/web: status.podIPs holds no address; no policy selects the pod until it has one'],
    ],
    ['no pod that has finished', [SHOP, pod('web', '').replace('Running', 'Succeeded')], []],
    [
      'a policy that selects none of the pods of its namespace',
      [SHOP, WEB, policy('shop', '{ podSelector: { matchLabels: { app: wbe } } }')],
      [
        'a.yaml:3: NetworkPolicy shop/p: spec.podSelector selects none of the pods that are there; the policy decides nothing',
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
        'a.yaml:2: ClusterNetworkPolicy a: spec.priority 5 in the admin tier is that of AdminNetworkPolicy z too; the other goes first, by kind and name',
        'a.yaml:1: ClusterNetworkPolicy b: spec.priority 5 in the admin tier is that of AdminNetworkPolicy z too; the other goes first, by kind and name',
      ],
    ],
  ])('%s', async (_, documents, expected) => {
    await writeFile(join(folder, 'a.yaml'), documents.map(document => `--- ${document}`).join('\n'));
    const { problems } = await checkManifests(folder);
    expect(problems.map(problem => problemText(problem).replace(`${folder}/`, ''))).toEqual(expected);
    expect(problems.every(({ severity }) => severity === 'warning')).toBe(true);
    expect((await loadManifests(folder)).problems).toEqual([]);
  });
});

function pod(name: string, ip: string): string {
  const metadata = `{ name: ${name}, namespace: shop, labels: { app: ${name} } }`;
  return `{ apiVersion: v1, kind: Pod, metadata: ${metadata}, status: { phase: Running, podIP: "${ip}" } }`;
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
