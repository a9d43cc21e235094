import { expect, test } from 'vitest';
import type { DirectionInspection, Inspection } from '../readback/inspection.ts';
import { onlyAbout } from './inspectfilter.ts';

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
  expect(onlyAbout(inspection, what).pods.map(({ pod }) => pod)).toEqual(pods);
});

test('onlyAbout() nothing shows all, and of what is not there it says so', () => {
  expect(onlyAbout(inspection, undefined)).toBe(inspection);
  for (const what of ['shop/w', 'sho', 'NetworkPolicy shop', 'AdminNetworkPolicy platform', ''])
    expect(() => onlyAbout(inspection, what), what).toThrow(`no pod of this node is ${what},`);
});
