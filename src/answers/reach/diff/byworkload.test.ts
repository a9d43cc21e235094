import { expect, test } from 'vitest';
import { clusterView } from '../../../../test/support/questions/clusterview.ts';
import { changesByWorkload } from './byworkload.ts';
import { type ChangeView, diffOf } from './diffview.ts';

const change = (kind: ChangeView['kind'], from: string[], to: string[]) =>
  ({ kind, from, to, families: ['ip'], before: [], after: [] }) as unknown as ChangeView;
const WEB = 'Deployment shop/web';

const MANY = [
  change('closes', [WEB, 'Pod shop/cron'], ['internet', 'Deployment shop/db']),
  change('closes', [WEB], ['internet']),
  change('closes', ['node/n1', 'any other pod'], [WEB]),
  change('opens', [WEB], ['10.0.0.0/8']),
  change('opens', ['domain x.test'], ['internet']),
  change('closes', ['internet'], ['internet']),
];

test('changesByWorkload() counts each other end once, and workloads alone have a line', () => {
  expect(changesByWorkload({ changes: MANY })).toEqual({
    shown: [
      { workload: 'shop/web', text: 'loses 2 destinations and 2 sources, gains 1 destination' },
      { workload: 'shop/db', text: 'loses 2 sources' },
      { workload: 'shop/cron', text: 'loses 2 destinations' },
    ],
    more: 0,
  });
});

test('changesByWorkload() is empty for a few changes, and bounded for many workloads', () => {
  expect(changesByWorkload({ changes: MANY.slice(1) })).toEqual({ shown: [], more: 0 });
  const pods = Array.from({ length: 33 }, (_, n) => `Pod shop/p${n}`);
  const { shown, more } = changesByWorkload({ changes: [...MANY, change('closes', pods, ['internet'])] });
  expect([shown.length, more]).toEqual([20, 16]);
});

const pod = (name: string, n: number) =>
  `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: shop, labels: { app: ${name} } }, spec: { containers: [{ name: c }] }, status: { podIPs: [{ ip: 10.0.0.${n} }, { ip: "fd00::${n}" }] } }`;
const DENY =
  '{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: deny, namespace: shop }, spec: { podSelector: { matchLabels: { app: a } } } }';

test('diffOf() leaves out a pod to itself, and keeps two pods to each other', () => {
  const changed = (...pods: string[]) =>
    diffOf(clusterView(pods.join('\n---\n')), clusterView([...pods, DENY].join('\n---\n')), 'allow').changes;
  const alone = changed(pod('a', 1));
  expect(alone.length).toBeGreaterThan(0);
  for (const { from, to } of alone)
    expect([...from, ...to].filter(name => name === 'Pod shop/a').length).toBe(1);
  const both = changed(pod('a', 1), pod('b', 2));
  expect(both.some(({ from, to }) => from.includes('Pod shop/b') && to.includes('Pod shop/a'))).toBe(true);
});
