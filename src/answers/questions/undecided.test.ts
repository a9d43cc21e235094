import { expect, test } from 'vitest';
import { address } from '../../../bench/lab/topology.ts';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { answer } from './answer.ts';

const NODES = ['n1', 'n2'].map(
  (name, at) =>
    `{ apiVersion: v1, kind: Node, metadata: { name: ${name} }, spec: { podCIDRs: [10.${at + 1}.0.0/24] }, status: { addresses: [{ type: InternalIP, address: 172.18.0.${at + 1} }] } }`,
);
const PODS = [
  ['web', 'n1', '10.1.0.2'],
  ['db', 'n2', '10.2.0.2'],
].map(
  ([name, node, ip]) =>
    `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: shop }, spec: { nodeName: ${node}, containers: [{ name: c }] }, status: { podIP: ${ip} } }`,
);
const POLICY =
  '{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: closed, namespace: shop }, spec: { podSelector: {}, policyTypes: [Ingress] } }';
const known = clusterView([...NODES, ...PODS, POLICY].join('\n---\n'), { unknownPods: 'deny' });
const ask = (from: string, to: string, here = known) => {
  const { verdict, reason, notes } = answer(here, { from, to });
  return { verdict, reason, notes: notes.join() };
};

test.each([
  ['shop/web', '10.2.0.1:80', 'node n2 itself, as of its bridge: then policy would allow this'],
  ['10.2.0.1', 'shop/db:80', 'node n2 itself, as of its bridge: then policy would allow this'],
])('%s -> %s is undecided: the first address of a pod network may be the node itself', (from, to, why) => {
  expect(ask(from, to)).toMatchObject({ verdict: 'undecided', reason: expect.stringContaining(why) });
});

test('the first address of a pod network is no end of a tunnel for pods, whoever has it (N72)', () => {
  const open = { ...known, unknownPods: 'allow' as const };
  for (const from of ['shop/db', 'shop/web']) expect(ask(from, '10.2.0.1/47', open).verdict).toBe('deny');
});

test('any other address that no pod has is denied, with a note', () => {
  const { verdict, notes } = ask('shop/web', '10.2.0.9:80');
  expect([verdict, notes]).toEqual(['deny', expect.stringContaining('may be an address of node n2 itself')]);
});

test('where the agent of the node says which addresses it has, there is a verdict', () => {
  const nodes = new Map(known.cluster.nodes);
  nodes.set('n2', { ...nodes.get('n2')!, interfaceAddresses: [address('10.2.0.1')] });
  const here = { ...known, cluster: { ...known.cluster, nodes } };
  expect(ask('shop/web', '10.2.0.1:80', here)).toMatchObject({ verdict: 'allow', notes: '' });
  expect(ask('shop/web', '10.2.0.9:80', here)).toMatchObject({ verdict: 'deny', notes: '' });
  expect(ask('10.2.0.1', 'shop/web:80', here)).toMatchObject({ verdict: 'deny', notes: '' });
});

test('whose verdict is the same either way has no note', () => {
  expect(ask('10.2.0.9', 'shop/web:80').notes).toBe('');
});

test.each(['deny', 'allow'] as const)(
  'where nobody says what agents do with unknown pods, guessed: %s',
  unknownPods => {
    const guesses = { unknownPods: true, podTunnels: false, why: 'nobody said how' };
    const guess = { ...known, unknownPods, guesses };
    for (const [from, to] of [
      ['shop/web', '10.2.0.9:80'],
      ['10.1.0.9', '172.18.0.2:80'],
    ] as const)
      expect(ask(from, to, guess)).toMatchObject({
        verdict: 'undecided',
        reason: expect.stringContaining('--unknown-pods=deny or allow says which'),
      });
    expect(ask('shop/web', '10.2.0.9:80', guess).reason).toMatch(
      /^10\.2\.0\.9 is in the pod network of node n2, and no known pod has it: agents deny or allow /,
    );
    expect(ask('10.2.0.9', 'shop/web:80', guess).verdict).toBe('deny');
    expect(ask('172.18.0.9', 'shop/web:80', guess).verdict).toBe('deny');
    expect(ask('shop/web', '192.0.2.1:80', guess).verdict).toBe('allow');
  },
);

test('where nobody says whether pods may send into tunnels, that alone is undecided', () => {
  const guesses = { unknownPods: false, podTunnels: true, why: 'nobody said how' };
  const guess = { ...known, guesses };
  expect(ask('shop/web', '172.18.0.2:8472/UDP', guess)).toMatchObject({
    verdict: 'undecided',
    reason:
      'UDP 8472 of node n2 is a tunnel between nodes: agents deny or allow its packets, as they were started, and nobody said how',
  });
  expect(ask('shop/web', '172.18.0.2:8473/UDP', guess).verdict).toBe('allow');
  expect(ask('shop/web', '172.18.0.2:8472/UDP').verdict).toBe('deny');
  // A policy denies it whatever agents do.
  expect(ask('shop/web', 'shop/db:8472/UDP', guess).verdict).toBe('deny');
});
