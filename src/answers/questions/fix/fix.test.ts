/** What `explain --fix` writes is what a person would: by the selector of what was named, and named after it. */
import { expect, test } from 'vitest';
import { clusterView } from '../../../../test/support/questions/clusterview.ts';
import { answer } from '../answer.ts';
import { fixOf } from '../explanation.ts';
import type { Fix } from './fix.ts';

const owner = (kind: string, name: string) =>
  `ownerReferences: [{ apiVersion: apps/v1, kind: ${kind}, name: ${name}, controller: true }]`;
const pod = (namespace: string, name: string, ip: string, labels: string, owned: string) =>
  `{ apiVersion: v1, kind: Pod, metadata: { name: ${name}, namespace: ${namespace}, labels: { ${labels} }, ${owned} }, spec: { containers: [{ name: c }] }, status: { podIPs: [${ip
    .split(' ')
    .map(each => `{ ip: ${each} }`)
    .join(', ')}] } }`;
const replica = (n: number) =>
  pod(
    'data',
    `db-${n}`,
    `10.2.0.${n + 1}`,
    `app: db, tier: x, apps.kubernetes.io/pod-index: "${n}", statefulset.kubernetes.io/pod-name: db-${n}, controller-revision-hash: db-5f`,
    owner('StatefulSet', 'db'),
  );
const closed = (namespace: string) =>
  `{ apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: { name: closed, namespace: ${namespace} }, spec: { podSelector: {}, policyTypes: [Ingress, Egress] } }`;

const SHOP = [
  ...['shop', 'data'].map(name => `{ apiVersion: v1, kind: Namespace, metadata: { name: ${name} } }`),
  '{ apiVersion: apps/v1, kind: Deployment, metadata: { name: web, namespace: shop }, spec: { selector: { matchLabels: { app: web } }, template: { metadata: { labels: { app: web, version: "7" } } } } }',
  pod(
    'shop',
    'web-5677dc485-f9v47',
    '10.1.0.1',
    'app: web, version: "7", pod-template-hash: 5677dc485',
    owner('ReplicaSet', 'web-5677dc485'),
  ),
  '{ apiVersion: apps/v1, kind: StatefulSet, metadata: { name: db, namespace: data }, spec: { selector: { matchLabels: { app: db } }, template: { metadata: { labels: { app: db, tier: x } } } } }',
  replica(0),
  replica(1),
  '{ apiVersion: v1, kind: Service, metadata: { name: sql, namespace: data }, spec: { selector: { app: db }, clusterIP: None, ports: [{ port: 5432 }] } }',
  '{ apiVersion: v1, kind: Service, metadata: { name: first, namespace: data }, spec: { selector: { statefulset.kubernetes.io/pod-name: db-0 }, ports: [{ port: 5432 }] } }',
  '{ apiVersion: batch/v1, kind: CronJob, metadata: { name: backup, namespace: shop }, spec: { jobTemplate: { spec: { template: { spec: {} } } } } }',
  pod(
    'shop',
    'backup-29-x',
    '10.1.0.9',
    'batch.kubernetes.io/job-name: backup-29, job-name: backup-29, controller-uid: u',
    owner('Job', 'backup-29'),
  ),
  closed('shop'),
  closed('data'),
];

function fixFor(from: string, to: string, ...more: string[]): Fix | string {
  const view = clusterView([...SHOP, ...more].join('\n---\n'));
  return fixOf(answer(view, { from, to }), view);
}

const summary = (fix: Fix | string) =>
  typeof fix === 'string'
    ? fix
    : (fix.objects as readonly { metadata: { name: string }; spec: Record<string, unknown> }[]).map(
        ({ metadata: { name }, spec: { podSelector, ingress, egress } }) => [
          name,
          podSelector,
          (ingress ?? egress) as unknown,
        ],
      );

const inNamespace = (name: string) => ({ matchLabels: { 'kubernetes.io/metadata.name': name } });
const ports = [{ protocol: 'TCP', port: 5432 }];
const pair = (name: string, web: object, db: object) => [
  [name, web, [{ to: [{ namespaceSelector: inNamespace('data'), podSelector: db }], ports }]],
  [name, db, [{ from: [{ namespaceSelector: inNamespace('shop'), podSelector: web }], ports }]],
];

const WEB = { matchLabels: { app: 'web' } };
const WEB7 = { matchLabels: { app: 'web', version: '7' } };
const DB = { matchLabels: { app: 'db' } };
const DBX = { matchLabels: { app: 'db', tier: 'x' } };

test.each([
  ['shop/deploy/web', 'data/svc/sql:5432', pair('allow-web-to-sql-5432', WEB, DB)],
  ['shop/deploy/web', 'data/sts/db:5432', pair('allow-web-to-db-5432', WEB, DB)],
  ['shop/web-5677dc485-f9v47', 'data/db-0:5432', pair('allow-web-to-db-5432', WEB7, DBX)],
  ['shop/deploy/web', 'db-0.sql.data.svc:5432', pair('allow-web-to-db-5432', WEB, DBX)],
  // The Service selects by the label of one pod, which no policy should.
  ['shop/deploy/web', 'data/svc/first:5432', pair('allow-web-to-first-5432', WEB, DBX)],
])('%s -> %s is one pair of policies by the selectors of the two', (from, to, expected) => {
  expect(summary(fixFor(from, to))).toEqual(expected);
});

test('a pod that is named alone opens the others of its workload, and that is said', () => {
  const fix = fixFor('shop/deploy/web', 'data/db-0:5432') as Fix;
  expect(fix.flips.map(({ from, to }) => `${from} -> ${to}`)).toEqual([
    'shop/web-5677dc485-f9v47 -> data/db-1',
  ]);
  expect((fixFor('shop/deploy/web', 'data/svc/sql:5432') as Fix).flips).toEqual([]);
});

test('a selector that others’ pods meet gives way to the labels of the template, also where those have no pod yet', () => {
  const canary =
    '{ apiVersion: apps/v1, kind: Deployment, metadata: { name: canary, namespace: shop }, spec: { replicas: 0, template: { metadata: { labels: { app: web, version: "7", track: canary } }, spec: {} } } }';
  const [egress] = summary(fixFor('shop/deploy/web', 'data/svc/sql:5432', canary)) as unknown[][];
  expect(egress![1]).toEqual({
    matchLabels: { app: 'web', version: '7' },
    matchExpressions: [{ key: 'track', operator: 'DoesNotExist' }],
  });
});

test('a label of some pods of a workload is neither demanded nor excluded', () => {
  const old = pod(
    'shop',
    'web-111-a',
    '10.1.0.2',
    'app: web, version: "6", pod-template-hash: "111"',
    owner('ReplicaSet', 'web-111'),
  );
  const other = pod('shop', 'other', '10.1.0.3', 'app: web, tier: z', '');
  const [egress] = summary(fixFor('shop/deploy/web', 'data/svc/sql:5432', old, other)) as unknown[][];
  expect(egress![1]).toEqual({
    matchLabels: { app: 'web' },
    matchExpressions: [{ key: 'tier', operator: 'DoesNotExist' }],
  });
});

test('the pod of a CronJob without labels of its own has no selector, and it is said', () => {
  expect(fixFor('shop/cronjob/backup', 'data/svc/sql:5432')).toBe(
    'no selector means shop/backup: it has no label of its own, so give its template (or manifest) one',
  );
});

const PRIVATE = ['10.0.0.0/8', '100.64.0.0/10', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16'];
const V4 = { ipBlock: { cidr: '0.0.0.0/0', except: PRIVATE } };
const V6 = { ipBlock: { cidr: '::/0', except: ['fc00::/7', 'fe80::/10'] } };
const https = [{ protocol: 'TCP', port: 443 }];

test('the internet is everything but what is private, over the families that are asked about', () => {
  const of = (from: string, to: string, ...more: string[]) => summary(fixFor(from, to, ...more));
  const dual = pod('shop', 'proxy', '10.1.0.7 fd00::7', 'app: proxy', '');
  expect(of('shop/deploy/web', 'internet:443')).toEqual([
    ['allow-web-to-internet-443', WEB, [{ to: [V4], ports: https }]],
  ]);
  expect(of('shop/proxy', 'internet:443', dual)).toEqual([
    ['allow-proxy-to-internet-443', { matchLabels: { app: 'proxy' } }, [{ to: [V4, V6], ports: https }]],
  ]);
  expect(of('internet', 'shop/proxy@6:443', dual)).toEqual([
    ['allow-internet-to-proxy-443', { matchLabels: { app: 'proxy' } }, [{ from: [V6], ports: https }]],
  ]);
  expect((fixFor('shop/deploy/web', 'internet:443') as Fix).flips).toEqual([]);
});

test('pods that have addresses of the internet are left out of it', () => {
  const node =
    '{ apiVersion: v1, kind: Node, metadata: { name: n1 }, spec: { podCIDRs: [44.0.0.0/16, 10.1.0.0/16] } }';
  const [[, , rules]] = summary(fixFor('shop/deploy/web', 'internet:443', node)) as [
    [string, object, unknown],
  ];
  expect(rules).toEqual([
    { to: [{ ipBlock: { cidr: '0.0.0.0/0', except: [...PRIVATE, '44.0.0.0/16'] } }], ports: https },
  ]);
});

test('what a cluster policy denies of the internet is for people: it has no exceptions', () => {
  const deny =
    '{ apiVersion: policy.networking.k8s.io/v1alpha2, kind: ClusterNetworkPolicy, metadata: { name: guard }, spec: { tier: Admin, priority: 5, subject: { namespaces: {} }, egress: [{ action: Deny, to: [{ networks: [0.0.0.0/0] }] }] } }';
  expect(fixFor('shop/deploy/web', 'internet:443', deny)).toMatch(
    /^a ClusterNetworkPolicy has no word for the internet without the networks of the cluster: only an edit of /,
  );
});

test('a Service of addresses outside is one policy with all of them', () => {
  const service =
    '{ apiVersion: v1, kind: Service, metadata: { name: legacy, namespace: shop }, spec: { clusterIP: 10.96.0.9, ports: [{ port: 5432 }] } }';
  const slice =
    '{ apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, addressType: IPv4, metadata: { name: legacy-1, namespace: shop, labels: { kubernetes.io/service-name: legacy } }, ports: [{ port: 5432 }], endpoints: [{ addresses: [192.0.2.1] }, { addresses: [192.0.2.2] }] }';
  expect(summary(fixFor('shop/deploy/web', 'shop/svc/legacy:5432', service, slice))).toEqual([
    [
      'allow-web-to-legacy-5432',
      WEB,
      [{ to: [{ ipBlock: { cidr: '192.0.2.1/32' } }, { ipBlock: { cidr: '192.0.2.2/32' } }], ports }],
    ],
  ]);
});
