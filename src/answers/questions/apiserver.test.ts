/** The API server by name, with and without what says where it is. */
import { expect, test } from 'vitest';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { matrixObject, rowsOf } from '../reach/rows.ts';
import { matrixViewOf } from '../reach/view.ts';
import { answer } from './answer.ts';
import { withApiServer } from './apiserver.ts';
import { fixOf } from './explanation.ts';

const OPERATOR =
  '{ apiVersion: apps/v1, kind: Deployment, metadata: { name: op, namespace: shop }, spec: { template: { metadata: { labels: { app: op } }, spec: { containers: [{ name: c }] } } } }';
const ENDPOINTS = `
  { apiVersion: v1, kind: Endpoints, metadata: { name: kubernetes, namespace: default },
    subsets: [{ addresses: [{ ip: 172.18.0.2 }, { ip: 172.18.0.3 }], ports: [{ name: https, port: 6443 }] }] }`;
const SLICE = `
  { apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4, ports: [{ name: https, port: 6443 }],
    metadata: { name: kubernetes, namespace: default, labels: { kubernetes.io/service-name: kubernetes } },
    endpoints: [{ addresses: [172.18.0.2] }, { addresses: [172.18.0.3] }] }`;
const SERVICE =
  '{ apiVersion: v1, kind: Service, metadata: { name: kubernetes, namespace: default }, spec: { clusterIP: 10.96.0.1, ports: [{ name: https, port: 443, targetPort: 6443 }] } }';
const NODE = (name: string, address: string) =>
  `{ apiVersion: v1, kind: Node, metadata: { name: ${name}, labels: { role: ${name} } }, spec: { podCIDR: 10.244.0.0/24 }, status: { addresses: [{ type: InternalIP, address: ${address} }] } }`;
const egress = (rules: string, name = 'op') =>
  `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: ${name}, namespace: shop }, spec: { podSelector: {}, policyTypes: [Ingress, Egress], egress: [${rules}] } }`;

const view = (...documents: readonly string[]) => clusterView([OPERATOR, ...documents].join('\n---\n'));
const known = (endpoints: readonly string[], ...documents: readonly string[]) => {
  const found = view(...documents);
  return { ...found, inventory: withApiServer(found.inventory, endpoints) };
};
const ask = (world: ReturnType<typeof view>, to = 'svc/kubernetes.default:443') =>
  answer(world, { from: 'deploy/op', to });

const BOTH = egress('{ to: [{ ipBlock: { cidr: 172.18.0.0/30 } }], ports: [{ port: 6443 }] }');
const ONE = egress('{ to: [{ ipBlock: { cidr: 172.18.0.2/32 } }], ports: [{ port: 6443 }] }');

test.each([
  ['Endpoints', view(ENDPOINTS, BOTH)],
  ['an EndpointSlice', view(SLICE, BOTH)],
  ['the Service too', view(SERVICE, SLICE, BOTH)],
  ['the caller', known(['172.18.0.2:6443', '172.18.0.3'], BOTH)],
])('with endpoints that %s names, each of them is judged behind the Service', (_, world) => {
  for (const to of [
    'svc/kubernetes.default:443',
    'svc/kubernetes.default',
    'kubernetes.default.svc:443',
    'kubernetes.default:https',
    'default/svc/kubernetes:443',
  ]) {
    const found = ask(world, to);
    expect(found.verdict).toBe('allow');
    expect([...new Set(found.cases.map(({ flow }) => `${flow.to}:${flow.port}`))]).toEqual([
      '172.18.0.2:6443',
      '172.18.0.3:6443',
    ]);
  }
});

test('an endpoint that no rule allows denies', () => {
  expect(ask(view(ENDPOINTS, ONE)).verdict).toBe('deny');
  expect(ask(known(['172.18.0.2'], ENDPOINTS, ONE)).verdict).toBe('allow');
});

test.each([
  ['no policy isolates it', [], 'allow'],
  ['nothing is allowed', [egress('')], 'deny'],
  ['everything is allowed', [egress('{}')], 'allow'],
  ['all addresses of one port are allowed', [egress('{ ports: [{ port: 443 }] }')], 'undecided'],
  [
    'all ports but one are allowed',
    [egress('{ ports: [{ port: 1, endPort: 7999 }, { port: 8001, endPort: 65535 }] }')],
    'undecided',
  ],
  ['some addresses are allowed', [BOTH], 'undecided'],
  ['pods alone are allowed', [egress('{ to: [{ namespaceSelector: {} }] }')], 'deny'],
] as const)('with endpoints that nobody knows it is judged for any: %s', (_, documents, verdict) => {
  const found = ask(view(...documents));
  expect(found.verdict).toBe(verdict);
  expect(`${found.reason} ${found.notes}`).toContain('the endpoints of the API server are not known');
});

test('a rule that means nodes decides nothing where no Node is there, and may mean one that is', () => {
  const nodes = `{ apiVersion: policy.networking.k8s.io/v1alpha2, kind: ClusterNetworkPolicy, metadata: { name: to-nodes },
    spec: { tier: Admin, priority: 1, subject: { namespaces: {} }, egress: [{ action: Accept, to: [{ nodes: { matchLabels: { role: cp } } }] }] } }`;
  expect(ask(view(nodes, egress(''))).verdict).toBe('undecided');
  expect(ask(view(nodes, egress(''), NODE('cp', '172.18.0.2'))).verdict).toBe('undecided');
  expect(ask(view(nodes, egress(''), NODE('cp', '172.18.0.2'), ENDPOINTS)).verdict).toBe('deny');
  expect(ask(known(['172.18.0.2'], nodes, egress(''), NODE('cp', '172.18.0.2'))).verdict).toBe('allow');
});

test('a fix names each endpoint and says whose it is; without known ones there is none', () => {
  const world = view(ENDPOINTS, egress(''));
  const fix = fixOf(ask(world), world, 'allow');
  expect(fix).toMatchObject({
    objects: [
      {
        spec: {
          egress: [
            {
              to: [{ ipBlock: { cidr: '172.18.0.2/32' } }, { ipBlock: { cidr: '172.18.0.3/32' } }],
              ports: [{ protocol: 'TCP', port: 6443 }],
            },
          ],
        },
      },
    ],
  });
  const whose = 'an endpoint of Service default/kubernetes, the API server';
  expect(fix).toMatchObject({
    remarks: new Map([
      ['172.18.0.2/32', whose],
      ['172.18.0.3/32', whose],
    ]),
  });
  const unknown = view(egress(''));
  expect(fixOf(ask(unknown), unknown, 'allow')).toBe(
    'the endpoints of the API server are not known: name them with --api-server',
  );
});

test('the API server opens connections to webhooks, from its endpoints', () => {
  const policy = `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: in, namespace: shop },
    spec: { podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr: 172.18.0.2/32 } }] }] } }`;
  const asked = (world: ReturnType<typeof view>) =>
    answer(world, { from: 'svc/kubernetes.default', to: 'deploy/op:9443' });
  expect(asked(known(['172.18.0.2'], policy)).verdict).toBe('allow');
  const denied = known(['172.18.0.3'], policy);
  expect(asked(denied).verdict).toBe('deny');
  expect(fixOf(asked(denied), denied, 'allow')).toMatchObject({
    remarks: new Map([['172.18.0.3/32', expect.any(String)]]),
  });
  expect(asked(view(policy)).verdict).toBe('undecided');
  expect(() => answer(view(SERVICE), { from: 'svc/web', to: 'deploy/op:1' })).toThrow(
    'no connection comes from a Service',
  );
});

test('an address that a pod of a template could get stays that of the API server', () => {
  const at = ENDPOINTS.replaceAll('172.18.0.', '10.0.0.').replace('{ ip: 10.0.0.3 }', '{ ip: 10.0.0.1 }');
  const rule = egress('{ to: [{ ipBlock: { cidr: 10.0.0.0/30 } }], ports: [{ port: 6443 }] }');
  const world = view(at, rule);
  for (const to of ['svc/kubernetes.default:443', '10.0.0.1:6443'])
    expect(ask(world, to)).toMatchObject({
      verdict: 'allow',
      cases: expect.not.arrayContaining([
        expect.objectContaining({ flow: expect.objectContaining({ from: '10.0.0.1' }) }),
      ]),
    });
  const { verdict, reason } = answer(world, { from: 'svc/kubernetes.default', to: 'deploy/op:9443' });
  expect([verdict, reason]).toEqual(['deny', expect.stringContaining('10.0.0.2')]);
});

test('an endpoint of it that is asked by address is no address of a Service', () => {
  expect(ask(view(ENDPOINTS, ONE), '172.18.0.2:6443').verdict).toBe('allow');
  expect(ask(view(ONE), '172.18.0.2:6443').verdict).toBe('undecided');
});

test.each([
  'nonsense',
  '172.18.0.2:0',
  '172.18.0.2:70000',
  '172.18.0.2:6443/UDP',
  '10.0.0.0/8',
  'x\x1b[2J',
  '',
])('an endpoint that is none is refused: %j', text => {
  expect(() => withApiServer(view().inventory, [text])).toThrow();
});

test('a Service of another namespace is svc/NAME.NAMESPACE', () => {
  const world = view(SERVICE.replaceAll('kubernetes', 'api').replace('default', 'bank'));
  expect(() => ask(world, 'svc/api.shop:443')).toThrow(
    'there is no Service shop/api; did you mean bank/api?',
  );
  expect(() => ask(world, 'shop/svc/kubernetes.default:443')).toThrow(
    'there is no Service shop/kubernetes.default',
  );
  expect(() => ask(world, 'kubernetes.shop.svc:443')).toThrow('there is no Service shop/kubernetes');
});

test('the matrix names it beside the node or network that it is to every policy', () => {
  const ends = (...documents: readonly string[]) => {
    const matrix = matrixViewOf(view(...documents), 'allow');
    const { ends: all } = matrixObject(
      matrix,
      rowsOf(matrix, () => true),
      [],
    ) as { ends: readonly { kind: string; members: string[]; parts: object }[] };
    return all.filter(({ members }) => members.includes('svc/kubernetes.default'));
  };
  expect(ends(ENDPOINTS, ONE)).toEqual([
    {
      kind: 'network',
      members: ['172.18.0.2/32', 'svc/kubernetes.default'],
      parts: { 'svc/kubernetes.default': '172.18.0.2:6443' },
    },
    {
      kind: 'network',
      members: ['internet', 'svc/kubernetes.default'],
      parts: { 'svc/kubernetes.default': '172.18.0.3:6443' },
    },
  ]);
  expect(ends(ENDPOINTS, ONE, NODE('cp', '172.18.0.3'))).toContainEqual({
    kind: 'node',
    members: ['cp', 'svc/kubernetes.default'],
    parts: { 'svc/kubernetes.default': '172.18.0.3:6443' },
  });
  expect(ends(ONE)).toEqual([]);
});
