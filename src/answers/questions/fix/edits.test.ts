/** Where a policy seems to be mistyped, that is edited: the five mistakes that new users make, and what is none. */
import { expect, test } from 'vitest';
import { clusterView } from '../../../../test/support/questions/clusterview.ts';
import { answer } from '../answer.ts';
import { fixOf } from '../explanation.ts';
import type { Fix } from './fix.ts';
import { writtenIn } from './written.ts';

const pod = (key: string, labels: string, ip: string, port: number) => {
  const [namespace, name] = key.split('/');
  return `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: ${namespace}, labels: { ${labels} } }, spec: { containers: [{ name: c, ports: [{ name: main, containerPort: ${port} }] }] }, status: { podIP: ${ip} } }`;
};
const namespace = (name: string, team: string) =>
  `{ apiVersion: v1, kind: Namespace, metadata: { name: ${name}, labels: { team: ${team}, kubernetes.io/metadata.name: ${name} } } }`;
const policy = (name: string, spec: string) =>
  `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: ${name}, namespace: shop, labels: { kept: "yes" } }, spec: { ${spec} } }`;
const CLOSED = policy('closed', 'podSelector: {}');
const SHOP = [
  namespace('shop', 'shops'),
  namespace('pay', 'payments'),
  pod('shop/web', 'app: web', '10.1.0.1', 80),
  pod('shop/db', 'app: db', '10.1.0.2', 5432),
  pod('pay/api', 'app: api', '10.2.0.1', 8080),
  pod('shop/wbb', 'app: wbb', '10.1.0.3', 80),
  pod('pay/job', 'app: job', '10.2.0.2', 9000),
  '{ apiVersion: v1, kind: Service, metadata: { name: db, namespace: shop }, spec: { selector: { app: db }, ports: [{ port: 54, targetPort: 5432 }] } }',
];
const toDb = (from: string, port: string | number = 5432) =>
  policy(
    'db',
    `podSelector: { matchLabels: { app: db } }, ingress: [{ from: [${from}], ports: [{ port: ${port} }] }]`,
  );
const ofPods = (labels: string) => `{ podSelector: { matchLabels: { ${labels} } } }`;
const ofTeam = (labels: string) => `namespaceSelector: { matchLabels: { ${labels} } }`;

function fixFor(from: string, to: string, wanted: 'allow' | 'deny', ...policies: string[]): Fix | string {
  const texts = [...SHOP, ...policies];
  const view = clusterView(texts.join('\n---\n'));
  return fixOf(answer(view, { from, to }), view, wanted, writtenIn(texts));
}

const editsOf = (fix: Fix | string) =>
  typeof fix === 'string' ? fix : fix.edits?.map(({ field, was, is }) => `${field}: ${was} -> ${is}`);

test.each<[string, string, string, string[]]>([
  [
    'a port with a digit too few',
    'shop/web',
    toDb(ofPods('app: web'), 543),
    ['spec.ingress[0].ports[0].port: TCP 543 -> TCP 5432'],
  ],
  [
    'the port of the Service',
    'shop/web',
    toDb(ofPods('app: web'), 54),
    ['spec.ingress[0].ports[0].port: TCP 54 -> TCP 5432'],
  ],
  [
    'the name of a port',
    'shop/web',
    toDb(ofPods('app: web'), 'mian'),
    ['spec.ingress[0].ports[0].port: port TCP "mian" -> TCP 5432'],
  ],
  [
    'a label',
    'shop/web',
    toDb(ofPods('app: wbe')),
    ['spec.ingress[0].from[0].podSelector: app=wbe -> app=web'],
  ],
  [
    'the key of a label',
    'shop/web',
    toDb(ofPods('name: web')),
    ['spec.ingress[0].from[0].podSelector: name=web -> app=web'],
  ],
  [
    'a label of a namespace',
    'pay/api',
    toDb(`{ ${ofTeam('team: pyments')} }`),
    ['spec.ingress[0].from[0].namespaceSelector: team=pyments -> team=payments'],
  ],
  [
    'the name of a namespace',
    'pay/api',
    toDb(`{ ${ofTeam('kubernetes.io/metadata.name: pai')}, podSelector: { matchLabels: { app: api } } }`),
    [
      'spec.ingress[0].from[0].namespaceSelector: kubernetes.io/metadata.name=pai -> kubernetes.io/metadata.name=pay',
    ],
  ],
  [
    'a peer without its namespace',
    'pay/api',
    toDb(ofPods('app: api')),
    [
      'spec.ingress[0].from[0].namespaceSelector: none, so pods app=api in namespace shop -> kubernetes.io/metadata.name=pay',
    ],
  ],
  [
    'a label and the port',
    'shop/web',
    toDb(ofPods('app: wbe'), 543),
    [
      'spec.ingress[0].from[0].podSelector: app=wbe -> app=web',
      'spec.ingress[0].ports[0].port: TCP 543 -> TCP 5432',
    ],
  ],
  [
    'a label of the subject',
    'shop/web',
    policy('db', 'podSelector: { matchLabels: { app: dbb } }, ingress: [{}]'),
    ['spec.podSelector: app=dbb -> app=db'],
  ],
])('%s that is mistyped is edited', (_, from, mistyped, edits) => {
  const fix = fixFor(from, 'shop/db:5432', 'allow', CLOSED, mistyped) as Fix;
  expect(editsOf(fix)).toEqual(edits);
  expect(fix.objects).toMatchObject([
    { metadata: { name: 'db', namespace: 'shop', labels: { kept: 'yes' } } },
  ]);
});

test.each<[string, string]>([
  ['a label that somebody has', toDb(ofPods('app: wbb'))],
  ['a label of something else', toDb(ofPods('app: frontend'))],
  [
    'a port on which others listen',
    policy('db', `podSelector: {}, ingress: [{ from: [${ofPods('app: web')}], ports: [{ port: 80 }] }]`),
  ],
])('%s is no mistake: a new policy is proposed', (_, other) => {
  const fix = fixFor('shop/web', 'shop/db:5432', 'allow', CLOSED, other) as Fix;
  expect(fix.edits).toBeUndefined();
  expect(fix.objects).toHaveLength(1);
});

test('two items in place of one are joined, and what that closes beside is said', () => {
  const either = toDb(`{ ${ofTeam('team: payments')} }, ${ofPods('app: api')}`);
  const fix = fixFor('pay/job', 'shop/db:5432', 'deny', either) as Fix;
  expect(editsOf(fix)).toEqual([
    'spec.ingress[0].from: namespaceSelector team=payments, or podSelector app=api (two items) -> namespaceSelector team=payments and podSelector app=api (one item)',
  ]);
  expect(fix.objects).toMatchObject([
    {
      spec: {
        ingress: [
          {
            from: [
              {
                namespaceSelector: { matchLabels: { team: 'payments' } },
                podSelector: { matchLabels: { app: 'api' } },
              },
            ],
          },
        ],
      },
    },
  ]);
  expect(fix.flips).toEqual([]);
});

test('what an edit opens on the other ports of its rule, and closes on the old one, is listed', () => {
  const rule = (ports: string) =>
    policy(
      'db',
      `podSelector: { matchLabels: { app: db } }, ingress: [{ from: [${ofPods('app: wbe')}], ports: [${ports}] }]`,
    );
  const flips = (fix: Fix | string) =>
    (fix as Fix).flips.map(({ from, flow, verdict }) => `${verdict} ${from} ${flow.port}`);
  expect(
    flips(fixFor('shop/web', 'shop/db:5432', 'allow', CLOSED, rule('{ port: 5432 }, { port: 9187 }'))),
  ).toEqual(['allow shop/web 9187']);
  const port = fixFor('shop/web', 'shop/db:5432', 'allow', CLOSED, toDb(ofPods('app: web'), 543));
  expect(flips(port)).toEqual(['deny shop/web 543']);
});

test('a direction without a mistake gets a new policy beside the edit', () => {
  const egress = policy('web', 'podSelector: { matchLabels: { app: web } }, policyTypes: [Egress]');
  const fix = fixFor('shop/web', 'shop/db:5432', 'allow', CLOSED, egress, toDb(ofPods('app: wbe'))) as Fix;
  expect(editsOf(fix)).toEqual(['spec.ingress[0].from[0].podSelector: app=wbe -> app=web']);
  expect(fix.objects.map(({ metadata }) => (metadata as { name: string }).name)).toEqual([
    'db',
    'allow-web-to-db-5432',
  ]);
});
