import { expect, test } from 'vitest';
import { nodeEvent, shopPod, shopPolicy } from '../../../test/support/scenarios/shop.ts';
import { compile } from '../../compiler/compile.ts';
import { parseAddress } from '../../model/address.ts';
import { ClusterState } from '../../model/cluster.ts';
import { parseFlowPieces } from '../../semantics/flowtext.ts';
import { namedPods, walkKernel } from './kernelwalk.ts';

const cluster = new ClusterState();
for (const event of [
  nodeEvent('n1', ['172.18.0.1']),
  nodeEvent('n2', ['172.18.0.2']),
  shopPod('shop/db', 'n1', ['10.1.0.1', 'fd01::1']),
  shopPod('shop/api', 'n1', ['10.1.0.2']),
  shopPod('shop/web', 'n2', ['10.2.0.1', 'fd02::1']),
  shopPolicy('db', {
    podSelector: { matchLabels: { app: 'db' } },
    policyTypes: ['Ingress'],
    ingress: [{ from: [{ podSelector: { matchLabels: { app: 'api' } } }], ports: [{ port: 5432 }] }],
  }),
  shopPolicy('web', { podSelector: { matchLabels: { app: 'web' } }, policyTypes: ['Egress'] }),
])
  cluster.apply(event);

const OWN = { n1: new Set([parseAddress('172.18.0.1')!]), n2: new Set([parseAddress('172.18.0.2')!]) };

function walk(node: 'n1' | 'n2', from: string, to: string) {
  const flow = parseFlowPieces(cluster, from, to);
  return walkKernel(compile(cluster, node), flow, OWN[node]);
}

test('walkKernel() names the pods, their classes, and every rule up to the verdict', () => {
  const { steps, ...rest } = walk('n1', 'shop/api', 'shop/db:5432');
  expect(rest).toMatchObject({
    hook: 'forward',
    verdict: 'accept',
    from: { address: '10.1.0.2' },
    to: { address: '10.1.0.1', pod: 'shop/db', ingress: expect.stringMatching(/^in-\w+-shop\/db$/) },
  });
  expect(steps.map(({ verdict }) => verdict?.split('-')[0])).toEqual(['goto in', 'jump from', 'accept']);
  expect(steps.map(({ comment }) => comment)).toEqual([
    'shop/db',
    'shop/db ingress[0]',
    'shop/db ingress[0]',
  ]);
  expect(steps[0]).toMatchObject({ chain: 'forward', rule: 'ip daddr vmap @ingress-pods' });
});

test('walkKernel() walks the other port, the other family and the other node to their own ends', () => {
  const denied = walk('n1', 'shop/api', 'shop/db:5433');
  expect([denied.verdict, denied.steps.at(-1)!.comment]).toEqual(['drop', 'isolated by shop/db']);
  expect(walk('n1', 'shop/web@6', 'shop/db:5432').verdict).toBe('drop');
  expect(walk('n2', 'shop/api', 'shop/db:5432')).toMatchObject({ verdict: 'accept', steps: [] });
});

test.each([
  ['shop/api', '172.18.0.1:22', 'input'],
  ['172.18.0.1', 'shop/db:5432', 'output'],
  ['172.18.0.2', 'shop/db:5432', 'forward'],
])('walkKernel() takes %s to %s by hook %s', (from, to, hook) => {
  expect(walk('n1', from, to).hook).toBe(hook);
});

test.each([
  ['into a tunnel between nodes', '172.18.0.2:4789/udp'],
  ['to everybody', '224.0.0.251:5353/udp'],
])('walkKernel() says what becomes of a packet %s, of a pod that no policy selects', (_, to) => {
  const flow = parseFlowPieces(cluster, 'shop/api', to);
  const rules = compile(withUplink(2), 'n1');
  expect(walkKernel(rules, flow, OWN.n1, address => address === '10.1.0.2').verdict).toBe('drop');
  expect(walkKernel(rules, flow, OWN.n1).verdict, 'from a link that is no pod’s').toBe('accept');
});

/** The same cluster with the links that the agent of n1 knows. */
function withUplink(index: number): ClusterState {
  const known = new ClusterState();
  for (const [key, value] of cluster.nodes) {
    const links = { uplinks: [index], podBridges: [] };
    known.apply({ type: 'node', key, value: key === 'n1' ? { ...value, links } : value });
  }
  for (const [key, value] of cluster.pods) known.apply({ type: 'pod', key, value });
  return known;
}

test('namedPods() knows the pods that policies affect, with all of their addresses', () => {
  const { pods } = namedPods(compile(cluster, 'n1'));
  expect([...pods].map(([key, { addresses }]) => [key, addresses])).toEqual([
    ['shop/db', ['10.1.0.1', 'fd01::1']],
  ]);
});
