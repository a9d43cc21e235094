/** Where a policy seems to be mistyped, that is edited: the five mistakes that new users make, and what is none. */
import { expect, test } from 'vitest';
import { clusterView } from '../../../../test/support/questions/clusterview.ts';
import { answer } from '../answer.ts';
import { fixOf } from '../explanation.ts';
import { edited } from './edits.ts';
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

test('an edit says what it opens on ports that its rule does not name one by one', () => {
  const metrics =
    '{ apiVersion: v1, kind: Pod, metadata: { name: db, namespace: shop, labels: { app: db } }, spec: { containers: [{ name: c, ports: [{ name: main, containerPort: 5432 }, { name: metrics, containerPort: 9187 }] }] }, status: { podIP: 10.1.0.2 } }';
  const said = (ports: string) => {
    const rule = `podSelector: { matchLabels: { app: db } }, ingress: [{ from: [${ofPods('app: wbe')}]${ports} }]`;
    const { flips, allPorts } = fixFor(
      'shop/web',
      'shop/db:5432',
      'allow',
      CLOSED,
      policy('db', rule),
      metrics,
    ) as Fix;
    return [allPorts, ...flips.map(({ flow }) => flow.port)];
  };
  expect(said('')).toEqual([true, 9187]);
  expect(said(', ports: [{ protocol: TCP }]')).toEqual([true, 9187]);
  expect(said(', ports: [{ port: 5000, endPort: 9999 }]')).toEqual([true, 5000, 9187]);
  expect(said(', ports: [{ port: 5432 }, { port: metrics }]')).toEqual([false, 9187]);
  expect(said(', ports: [{ port: 5432 }]')).toEqual([false]);
});

test('what an edit isolates is said to be about all ports', () => {
  const mistyped = policy('db', 'podSelector: { matchLabels: { app: dbb } }, ingress: []');
  const fix = fixFor('shop/web', 'shop/db:5433', 'deny', mistyped) as Fix;
  expect(fix.flips).toContainEqual(expect.objectContaining({ from: 'pay/api', verdict: 'deny' }));
  expect(new Set(fix.flips.map(({ flow }) => flow.port))).toEqual(new Set([5433, 5432]));
  expect(editsOf(fix)).toEqual(['spec.podSelector: app=dbb -> app=db']);
  expect(fix.allPorts).toBe(true);
});

test('an edit is not made in place of a peer that cannot be read', () => {
  const text = toDb(`{ ipBlock: { cidr: nonsense } }, ${ofPods('app: job')}, ${ofPods('app: wbe')}`);
  const object = writtenIn([text]).of('NetworkPolicy shop/db')!;
  const field = 'spec.ingress[0].from[1].podSelector';
  const edit = { policy: 'NetworkPolicy shop/db', field, was: 'app=wbe', is: 'app=web', set: {} } as const;
  expect(edited(object, [{ ...edit, of: 2 }])).toBeUndefined();
  expect(edited(object, [{ ...edit, of: 3 }])).toMatchObject({ spec: { ingress: [{ from: [{}, {}, {}] }] } });
});

test('an edit leaves alone what an alias repeats', () => {
  const own = `ingress: [{ from: [&peer ${ofPods('app: wbe')}] }], egress: [{ to: [*peer] }]`;
  const aliased = policy('db', `podSelector: { matchLabels: { app: db } }, ${own}`);
  expect((fixFor('shop/web', 'shop/db:5432', 'allow', CLOSED, aliased) as Fix).objects).toMatchObject([
    {
      spec: {
        ingress: [{ from: [{ podSelector: { matchLabels: { app: 'web' } } }] }],
        egress: [{ to: [{ podSelector: { matchLabels: { app: 'wbe' } } }] }],
      },
    },
  ]);
});

test('an object that an alias makes a part of itself is not edited', () => {
  const object: Record<string, unknown> = { kind: 'NetworkPolicy', spec: {} };
  object.metadata = object;
  const edit = {
    policy: 'NetworkPolicy shop/db',
    field: 'spec.podSelector',
    was: '',
    is: '',
    set: {},
  } as const;
  expect(edited(object, [edit])).toBeUndefined();
});

test('nothing is taken for mistyped by somebody who may not list all pods', () => {
  const texts = [...SHOP, CLOSED, toDb(ofPods('app: wbe'))];
  const view = clusterView(texts.join('\n---\n'), { mayNotList: plural => plural === 'pods' });
  const asked = answer(view, { from: 'shop/web', to: 'shop/db:5432' });
  expect(editsOf(fixOf(asked, view, 'allow', writtenIn(texts)))).toBeUndefined();
});

test('a policy of all pods of a large namespace is edited in no time', () => {
  const many = Array.from({ length: 1_500 }, (_, i) =>
    pod(`shop/p${i}`, `app: p${i}`, `10.3.${i >> 8}.${i & 255}`, 5432),
  );
  const all = policy(
    'all',
    `podSelector: {}, ingress: [{ from: [${ofPods('app: wbe')}], ports: [{ port: 5432 }] }]`,
  );
  const started = performance.now();
  const fix = fixFor('shop/web', 'shop/db:5432', 'allow', CLOSED, all, ...many) as Fix;
  expect(fix.flips).toHaveLength(1_501);
  expect(performance.now() - started).toBeLessThan(15_000);
});
