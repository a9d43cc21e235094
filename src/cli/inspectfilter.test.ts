import { expect, test } from 'vitest';
import { clusterView } from '../../test/support/questions/clusterview.ts';
import type { DirectionInspection, Inspection } from '../answers/readback/inspect.ts';
import { onlyAbout } from './inspect.ts';

const direction = (...sources: string[]): DirectionInspection => ({
  chain: 'x',
  rules: sources.map(source => ({ verdict: 'accept', source })),
});
const inspection: Inspection = {
  installed: true,
  unknownPods: 'allow',
  totals: { chains: 1, sets: 1, elements: 1 },
  pods: [
    { pod: 'shop/web', addresses: [], ingress: direction('shop/web ingress[0]', 'cnp:platform ingress[1]') },
    { pod: 'shop/db', addresses: [], egress: direction('isolated by shop/db, shop/default-deny') },
    {
      pod: 'shopping/web',
      addresses: [],
      ingress: direction('shopping/web ingress[0]', 'banp:default ingress[0]'),
    },
  ],
};

test.each([
  ['shop/web', ['shop/web']],
  ['shop', ['shop/web', 'shop/db']],
  ['shopping', ['shopping/web']],
  ['NetworkPolicy shop/default-deny', ['shop/db']],
  ['NetworkPolicy shop/web', ['shop/web']],
  ['ClusterNetworkPolicy platform', ['shop/web']],
  ['BaselineAdminNetworkPolicy default', ['shopping/web']],
  ['cnp:platform', ['shop/web']],
])('onlyAbout() %s shows what it is about', (what, pods) => {
  expect(onlyAbout(inspection, [what]).pods.map(({ pod }) => pod)).toEqual(pods);
});

test.each([
  ['shop/free', 'pod shop/free is of this node, and no policy that is programmed selects it'],
  ['shop/far', 'no pod of this node is shop/far, is in it, or is judged by it: it is of n2'],
  ['shop/wbe', 'no pod of this node is shop/wbe, is in it, or is judged by it: did you mean shop/web?'],
  ['nothing', 'no pod of this node is nothing, is in it, or is judged by it: sluice inspect shows all'],
])('onlyAbout() %s, of which nothing is programmed, says why', (what, said) => {
  const pod = (name: string, node: string) =>
    `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: shop }, spec: { nodeName: ${node} }, status: { podIP: 10.0.0.1 } }`;
  const { cluster } = clusterView(`${pod('free', 'n1')}\n---\n${pod('far', 'n2')}`);
  expect(() => onlyAbout(inspection, [what], { cluster, node: 'n1' })).toThrow(said);
});

test('onlyAbout() nothing shows all, and of what is not there it says so', () => {
  expect(onlyAbout(inspection, [])).toBe(inspection);
  for (const what of ['shop/w', 'sho', 'NetworkPolicy shop', 'AdminNetworkPolicy platform', ''])
    expect(() => onlyAbout(inspection, [what]), what).toThrow(`no pod of this node is ${what},`);
});
