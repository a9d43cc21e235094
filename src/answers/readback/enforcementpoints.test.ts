import { expect, test } from 'vitest';
import { nodeEvent, shopPod, shopPolicy } from '../../../test/support/scenarios/shop.ts';
import { compile } from '../../compiler/compile.ts';
import { parseAddress } from '../../model/address.ts';
import { ClusterState } from '../../model/cluster.ts';
import { evaluate } from '../../semantics/evaluate.ts';
import { parseFlowPieces } from '../../semantics/flowtext.ts';
import { demanded, enforcementPoints, outcomeOf, podLinkFinder } from './enforcementpoints.ts';
import { walkKernel } from './kernelwalk.ts';

function withPodCidr(node: string, cidr: string) {
  const event = nodeEvent(node, ['172.18.0.4']);
  return { ...event, value: { ...event.value, podCidrs: [cidr] } } as typeof event;
}

const cluster = new ClusterState();
for (const event of [
  nodeEvent('n1', ['172.18.0.1']),
  nodeEvent('n2', ['172.18.0.2']),
  withPodCidr('n4', '10.4.0.0/24'),
  shopPod('shop/db', 'n1', ['10.1.0.1']),
  shopPod('shop/api', 'n1', ['10.1.0.2']),
  shopPod('shop/web', 'n2', ['10.2.0.1']),
  shopPod('shop/new', '', ['10.3.0.1']),
  shopPolicy('db', {
    podSelector: { matchLabels: { app: 'db' } },
    policyTypes: ['Ingress'],
    ingress: [{ from: [{ podSelector: { matchLabels: { app: 'api' } } }], ports: [{ port: 5432 }] }],
  }),
  shopPolicy('web', { podSelector: { matchLabels: { app: 'web' } }, policyTypes: ['Egress'] }),
])
  cluster.apply(event);

// The address of a bridge belongs to the node, too, although no Node object has it.
const OWN = { n1: ['172.18.0.1', '10.1.0.254'], n2: ['172.18.0.2'], n3: ['172.18.0.3'], n4: ['172.18.0.4'] };

function judge(node: keyof typeof OWN, from: string, to: string) {
  const flow = parseFlowPieces(cluster, from, to);
  const points = enforcementPoints(cluster, flow, evaluate(cluster, flow));
  const { hook, verdict } = walkKernel(
    compile(cluster, node),
    flow,
    new Set(OWN[node].map(text => parseAddress(text)!)),
    podLinkFinder(cluster, node),
  );
  return { points, hook, verdict };
}

test('enforcementPoints() names the node of each end that is a pod', () => {
  expect(judge('n1', 'shop/web', 'shop/api:80').points).toEqual([
    { node: 'n2', direction: 'egress', verdict: 'deny' },
    { node: 'n1', direction: 'ingress', verdict: 'allow' },
  ]);
  expect(judge('n1', '192.0.2.1', '172.18.0.2:22').points).toEqual([]);
  expect(judge('n1', '192.0.2.1', 'shop/new:22').points).toEqual([]); // on no node yet
});

test.each([
  ['n1', 'shop/web', 'shop/db:5432', 'drop', 'drop'], // by the ingress of its own pod
  ['n2', 'shop/web', 'shop/db:5432', 'drop', 'drop'], // by the egress of its own
  ['n2', 'shop/web', 'shop/api:80', 'drop', 'drop'],
  ['n1', 'shop/web', 'shop/api:80', 'accept', 'denied-elsewhere'],
  ['n1', 'shop/api', 'shop/db:5432', 'accept', 'accept'],
  ['n2', 'shop/api', 'shop/db:5432', 'accept', 'not-judged-here'],
  ['n2', 'shop/api', 'shop/db:5433', 'accept', 'not-judged-here'],
  ['n3', 'shop/web', 'shop/db:5432', 'accept', 'not-judged-here'],
  ['n2', '172.18.0.2', 'shop/db:5432', 'accept', 'not-judged-here'], // from the node itself
  ['n1', '172.18.0.1', 'shop/db:1', 'accept', 'accept'], // N43
  ['n1', '10.1.0.254', 'shop/db:1', 'accept', 'accept'],
  ['n2', '192.0.2.1', '172.18.0.2:22', 'accept', 'accept'], // no pod, no policy
  ['n4', '10.4.0.7', '172.18.0.2:22', 'accept', 'accept'], // an unknown pod, where such are allowed
  ['n4', '10.4.0.7', '172.18.0.2:4789/udp', 'drop', 'drop'], // N72
  ['n4', '10.4.0.7', '172.18.0.4/47', 'drop', 'drop'],
  ['n2', '10.4.0.7', '172.18.0.2/47', 'drop', 'drop'],
] as const)(
  'on %s, policy and kernel agree about %s to %s: %s; outcome %s',
  (node, from, to, expected, outcome) => {
    const { points, hook, verdict } = judge(node, from, to);
    expect(demanded(points, node, hook)).toBe(expected);
    expect(verdict).toBe(expected);
    expect(outcomeOf(points, node, hook, verdict)).toBe(outcome);
  },
);

test('outcomeOf() is what the kernel does where it does what it should not', () => {
  const { points, hook } = judge('n1', 'shop/web', 'shop/db:5432');
  expect(outcomeOf(points, 'n1', hook, 'accept')).toBe('accept');
  expect(outcomeOf(points, 'n3', hook, 'drop')).toBe('drop');
});
