import { expect, test } from 'vitest';
import { compile } from '../../compiler/compile.ts';
import { decodeObject } from '../../inputs/kube/decode/decode.ts';
import type { Address } from '../../model/address.ts';
import { ClusterState } from '../../model/cluster.ts';
import { inspectRuleset } from './inspect.ts';

const POD = (name: string, address: string, node: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'shop', labels: { app: name } },
  spec: { nodeName: node, containers: [{ name: 'c' }] },
  status: { phase: 'Running', podIPs: [{ ip: address }] },
});

function cluster(...specs: { name: string; spec: object }[]): ClusterState {
  const state = new ClusterState();
  const policies = specs.map(({ name, spec }) => ({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name, namespace: 'shop' },
    spec,
  }));
  for (const object of [POD('db', '10.0.0.1', 'n1'), POD('api', '10.0.0.2', 'n2'), ...policies]) {
    state.apply(decodeObject(object).event!);
  }
  return state;
}

test('inspectRuleset() reads rules back in the words of the policies', () => {
  const state = cluster({
    name: 'db',
    spec: {
      podSelector: { matchLabels: { app: 'db' } },
      ingress: [
        { from: [{ podSelector: { matchLabels: { app: 'api' } } }], ports: [{ port: 5432 }, { port: 5433 }] },
        {
          from: [{ ipBlock: { cidr: '10.9.0.0/16', except: ['10.9.1.0/24'] } }],
          ports: [{ port: 1, endPort: 999 }],
        },
      ],
    },
  });
  expect(inspectRuleset(compile(state, 'n1')).pods).toEqual([
    {
      pod: 'shop/db',
      addresses: ['10.0.0.1'],
      ingress: {
        chain: expect.stringMatching(/^in-.*-shop\/db$/),
        rules: [
          {
            verdict: 'accept',
            ports: 'tcp 5432-5433',
            peers: 'pods app=api in namespace shop',
            source: 'shop/db ingress[0]',
          },
          {
            verdict: 'accept',
            ports: 'tcp 1-999',
            peers: '10.9.0.0/16 except 10.9.1.0/24',
            source: 'shop/db ingress[1]',
          },
          { verdict: 'drop', source: 'isolated by shop/db' },
        ],
      },
    },
  ]);
});

test('inspectRuleset() finds nothing where nothing is programmed', () => {
  expect(inspectRuleset({ tables: new Map() })).toEqual({
    installed: false,
    pods: [],
    unknownPods: 'allow',
    totals: { chains: 0, sets: 0, elements: 0 },
  });
});

test('inspectRuleset() keeps what only one family has in the place that it has there', () => {
  const state = cluster({
    name: 'db',
    spec: {
      podSelector: { matchLabels: { app: 'db' } },
      ingress: [
        { from: [{ ipBlock: { cidr: '10.9.0.0/16' } }, { ipBlock: { cidr: 'fd09::/16' } }] },
        { from: [{ podSelector: {} }], ports: [{ protocol: 'UDP' }] },
      ],
    },
  });
  const db = state.pods.get('shop/db')!;
  state.apply({
    type: 'pod',
    key: db.key,
    value: { ...db, addresses: [...db.addresses, 'fd00::1' as Address] },
  });
  const rules = inspectRuleset(compile(state, 'n1')).pods[0]?.ingress?.rules ?? [];
  expect(rules.map(({ peers, family }) => [peers, family])).toEqual([
    ['10.9.0.0/16', 'ip'],
    ['fd09::/16', 'ip6'],
    ['all pods in namespace shop', undefined],
    [undefined, undefined],
  ]);
});

test('inspectRuleset() does not take two pods for one whose long names begin alike', () => {
  const state = cluster({ name: 'db', spec: { podSelector: {}, policyTypes: ['Ingress'] } });
  const db = state.pods.get('shop/db')!;
  for (const [end, address] of [
    ['a', '10.0.0.8'],
    ['b', '10.0.0.9'],
  ] as const) {
    const key = `shop/${'x'.repeat(200)}${end}` as const;
    state.apply({ type: 'pod', key, value: { ...db, key, name: key, addresses: [address as Address] } });
  }
  const long = inspectRuleset(compile(state, 'n1')).pods.filter(({ pod }) => pod.includes('xxx'));
  expect(long.map(({ addresses }) => addresses)).toEqual([['10.0.0.8'], ['10.0.0.9']]);
});

test('inspectRuleset() names what NotIn selects once, and not the pods that it is taken from', () => {
  const tenants = [{ matchExpressions: [{ key: 'team', operator: 'NotIn', values: ['data', 'shop'] }] }];
  const state = cluster({
    name: 'strangers',
    spec: {
      podSelector: { matchLabels: { app: 'db' } },
      ingress: [{ from: tenants.map(namespaceSelector => ({ namespaceSelector })) }],
    },
  });
  const [db] = inspectRuleset(compile(state, 'n1')).pods;
  expect(db!.ingress!.rules[0]!.peers).toBe('all pods in namespaces team notin (data, shop)');
});
