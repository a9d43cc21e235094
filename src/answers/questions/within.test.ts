import { expect, test } from 'vitest';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { ask } from './ask.ts';
import { isWithin } from './within.ts';

const pod = (namespace: string, name: string, address: string) =>
  `- { apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: ${namespace}, labels: { app: ${name} } }, status: { podIP: ${address} } }`;
const view = clusterView(`
apiVersion: v1
kind: List
items:
- { apiVersion: v1, kind: Node, metadata: { name: n1 }, status: { addresses: [{ type: InternalIP, address: 192.168.0.1 }] } }
- { apiVersion: v1, kind: Service, metadata: { name: db, namespace: shop }, spec: { clusterIP: 10.96.0.7, selector: { app: db }, ports: [{ port: 80 }] } }
${pod('shop', 'web', '10.1.0.1')}
${pod('shop', 'db', '10.1.0.2')}
${pod('data', 'db', '10.1.0.3')}
`);

test.each([
  ['web', 'db:80', true],
  ['web', 'svc/db:80', true],
  ['web', 'shop/app=db:80', true],
  ['web', 'internet:443', true],
  ['internet', 'web:443', true],
  ['web', 'example.org:443', true],
  ['web', '203.0.113.7:443', true],
  ['node/n1', 'web:443', true],
  ['192.168.0.1', 'web:443', true],
  ['web', 'data/db:80', false],
  ['data/db', 'web:80', false],
  ['web', 'data/app=none:80', false],
  ['web', '10.1.0.3:80', false],
  ['web', '10.1.0.77', false],
])('from %s to %s the policies of the namespace decide: %s', (from, to, expected) => {
  const [asked] = ask(view, [{ from, to }]);
  if (asked === undefined || !('answer' in asked)) throw new Error(JSON.stringify(asked));
  expect(isWithin(asked.answer, view.cluster, ['shop'])).toBe(expected);
});

test('an answer without a connection is of nobody', () => {
  expect(isWithin({ cases: [] }, view.cluster, ['shop'])).toBe(false);
});
