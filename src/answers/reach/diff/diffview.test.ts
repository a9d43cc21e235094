import { expect, test } from 'vitest';
import { clusterView } from '../../../../test/support/questions/clusterview.ts';
import { diffOf, type IsMeant } from './diffview.ts';

const pod = (namespace: string, name: string, ip: string) =>
  `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: ${namespace}, labels: { app: ${name} } }, spec: { containers: [{ name: c }] }, status: { podIP: ${ip} } }`;
const closed = (namespace: string) =>
  `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: closed, namespace: ${namespace} }, spec: { podSelector: {}, policyTypes: [Ingress] } }`;
const PODS = [pod('shop', 'web', '10.0.0.1'), pod('shop', 'db', '10.0.0.2'), pod('ops', 'cron', '10.0.1.1')];

/** The changes after both namespaces are closed and one gets a new pod. */
const changes = (isMeant?: IsMeant) =>
  diffOf(
    clusterView(PODS.join('\n---\n')),
    clusterView([...PODS, pod('ops', 'new', '10.0.1.2'), closed('shop'), closed('ops')].join('\n---\n')),
    'allow',
    isMeant,
  );
const ends = ({ changes }: ReturnType<typeof diffOf>) =>
  changes.flatMap(({ from, to }) => [...from, ...to]).map(name => name.replace(/^\w+ /, ''));

test('of some workloads it says what changes for them, from and to others too', () => {
  const all = changes();
  expect(ends(all)).toEqual(expect.arrayContaining(['shop/web', 'shop/db', 'ops/cron', 'internet']));
  expect(all.added).toEqual(['Pod ops/new']);
  const web = changes(({ labels }) => labels.app === 'web');
  expect(web.changes.length).toBeGreaterThan(0);
  const pairs = ({ changes }: ReturnType<typeof diffOf>) =>
    changes.reduce((sum, { from, to }) => sum + from.length * to.length, 0);
  expect(pairs(web)).toBeLessThan(pairs(all));
  for (const { from, to } of web.changes) expect([...from, ...to]).toContain('Pod shop/web');
  expect(web.added).toEqual([]);
  expect(changes(({ namespace }) => namespace === 'ops').added).toEqual(['Pod ops/new']);
  expect(changes(() => false)).toMatchObject({ changes: [], added: [], removed: [] });
});

const dual = (name: string, n: number) =>
  pod('shop', name, `10.0.0.${n}, podIPs: [{ ip: 10.0.0.${n} }, { ip: "fd00::${n}" }]`);
const from = (...cidrs: string[]) =>
  `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: some, namespace: shop }, spec: { podSelector: { matchLabels: { app: web } }, policyTypes: [Ingress], ingress: [{ from: [${cidrs.map(cidr => `{ ipBlock: { cidr: "${cidr}" } }`)}, { podSelector: {} }] }] } }`;

test.each([
  [
    'networks of both families that close alike are one change',
    ['10.1.0.0/16', 'fd00:1::/32'],
    ['closes 10.1.0.0/16, fd00:1::/32 -> Pod shop/web (ip, ip6)'],
  ],
  [
    'the internet of both families is the internet once',
    ['0.0.0.0/0', '::/0'],
    ['closes any other pod -> Pod shop/web (ip, ip6)', 'closes internet -> Pod shop/web (ip, ip6)'],
  ],
  [
    'the internet of one family is of that family',
    ['0.0.0.0/0', 'fd00:1::/32'],
    ['closes any other pod, internet -> Pod shop/web (ip)', 'closes fd00:1::/32 -> Pod shop/web (ip6)'],
  ],
])('%s', (_, cidrs, expected) => {
  const both = (policy: string) => clusterView([dual('web', 1), dual('db', 2), policy].join('\n---\n'));
  const { changes } = diffOf(both(from(...cidrs)), both(from('10.2.0.0/16')), 'allow');
  const texts = changes
    .filter(({ kind }) => kind === 'closes')
    .map(({ kind, from, to, families }) => `${kind} ${from.join(', ')} -> ${to} (${families.join(', ')})`);
  expect(texts).toEqual(expected);
});

test('a comparison knows the families that pods have', () => {
  const ofPod = (pod: string) => diffOf(clusterView(pod), clusterView(pod), 'allow').families;
  expect(ofPod(pod('shop', 'web', '10.0.0.1'))).toEqual(['ip']);
  expect(ofPod(pod('shop', 'web', '"fd00::1"'))).toEqual(['ip6']);
  expect(ofPod(dual('web', 1))).toEqual(['ip', 'ip6']);
});
