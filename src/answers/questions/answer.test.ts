/** Every end that people name, with the verdict that its pods and policies give: test/fixtures/questions.yaml. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { NO_INVENTORY } from '../../model/inventory.ts';
import { answer, groupsOf } from './answer.ts';

const shop = clusterView(
  readFileSync(join(import.meta.dirname, '../../../test/fixtures/questions.yaml'), 'utf8'),
);
const ask = (text: string, known = shop) => {
  const [from = '', to = ''] = text.split(' -> ');
  return answer(known, { from, to });
};

test.each([
  // Pods, with and without their namespace, by name of a port.
  ['guest/visitor -> shop/web-1-a:8080', 'allow', ''],
  ['guest/visitor -> web-1-a:8080/TCP', 'allow', ''],
  ['guest/visitor -> pod/web-1-a:http', 'allow', ''],
  ['guest/visitor -> shop/web-1-b:http', 'deny', ''],
  ['guest/visitor -> shop/web-1-a:8080/UDP', 'deny', ''],
  ['guest/visitor -> shop/web-1-a', 'deny', ''],
  ['guest/waiting -> web-1-a:8080', 'deny', ''],
  // Families.
  // The policy means a port by name, and a pod given by labels has no named ports.
  ['web-1-a -> shop/app=db:5432', 'deny', ''],
  ['web-1-a@6 -> internet:443', 'allow', ''],
  // Workloads by their pods, and by their templates.
  ['guest/visitor -> deploy/web:8080', 'allow', ''],
  ['guest/visitor -> rs/web-1:8080', 'allow', ''],
  ['guest/visitor -> deploy/web:http', 'deny', 'destination'],
  ['deploy/web -> sts/db:5432', 'allow', ''],
  ['deploy/web -> shop/sts/db:sql', 'allow', ''],
  ['cronjob/backup -> sts/db:5432', 'deny', ''],
  // Workloads without their kind, as lists show them; Services that no workload has the name of.
  ['guest/visitor -> shop/web:8080', 'allow', ''],
  ['web -> db:sql', 'allow', ''],
  ['backup -> shop/db:5432', 'deny', ''],
  ['guest/visitor -> shop/peers:9999', 'deny', ''],
  ['cronjob/shop/backup -> internet:443', 'deny', 'family'],
  ['cronjob/backup@4 -> internet:443', 'allow', ''],
  ['guest/visitor -> ds/agent:10250', 'allow', ''],
  // Services: by name, by name of the DNS, by address, by port name; each endpoint on its own port.
  ['guest/visitor -> svc/web:80', 'deny', 'destination'],
  ['guest/visitor -> svc/shop/web:web', 'deny', 'destination'],
  ['guest/visitor -> web.shop.svc:80', 'deny', 'destination'],
  ['guest/visitor -> web.shop.svc.cluster.local:80', 'deny', 'destination'],
  ['guest/visitor -> 10.96.0.80:80', 'deny', 'destination'],
  ['guest/visitor -> guest/svc/alias:80', 'deny', 'destination'],
  ['guest/visitor -> svc/peers:8080', 'allow', ''],
  ['guest/visitor -> svc/peers:9999', 'deny', ''], // A headless Service leads to its pods directly.
  ['guest/visitor -> svc/peers:8080/UDP', 'deny', ''],
  // As DNS of the cluster has them: short, of one pod behind a Service, of a pod's address.
  ['guest/visitor -> web.shop:80', 'deny', 'destination'],
  ['guest/visitor -> Web.Shop.SVC:80', 'deny', 'destination'],
  ['guest/visitor -> web-1-a.peers.shop.svc.cluster.local:8080', 'allow', ''],
  ['guest/visitor -> web-1-b.peers.shop:9090', 'deny', ''],
  ['deploy/web -> db-0.db.shop.svc:5432', 'allow', ''],
  ['guest/visitor -> 10-1-0-10.shop.pod.cluster.local:8080', 'allow', ''],
  ['guest/visitor -> web.nowhere:80', 'allow', ''], // A name of the world.
  // Kinds as kubectl prints them.
  ['guest/visitor -> deployment.apps/web:8080', 'allow', ''],
  ['Deployment/web -> shop/statefulset.v1.apps/db:5432', 'allow', ''],
  ['cronjob.batch/backup -> Service/db:5432', 'deny', ''],
  ['deploy/web -> svc/db:5432', 'allow', ''],
  ['guest/visitor -> svc/db:5432', 'deny', ''],
  ['guest/visitor -> svc/written:80', 'deny', ''],
  ['guest/visitor -> svc/legacy:80', 'allow', ''],
  ['guest/waiting -> svc/legacy:80', 'deny', ''],
  ['guest/visitor -> svc/nobody:80', 'undecided', ''],
  ['guest/visitor -> svc/elsewhere:443', 'allow', ''],
  // A node, and a port that a Service took on it.
  ['node/n1 -> web-1-a:8080', 'allow', ''],
  ['guest/visitor -> node/n1:10250', 'allow', ''],
  ['guest/visitor -> node/n1:30080', 'deny', 'destination'],
  // The world: of its addresses the policy means some.
  ['internet -> web-1-a:8080', 'deny', 'address'],
  ['198.51.100.7 -> web-1-a:8080', 'allow', ''],
  ['example.com -> web-1-a:8080', 'deny', 'address'],
  ['cronjob/backup@4 -> example.com:443', 'allow', ''],
  ['cronjob/backup -> 10.200.0.1:443', 'undecided', ''],
  ['cronjob/backup -> 8.8.8.8:443', 'allow', ''],
  // Labels of pods that are not there.
  ['guest/app=visitor,x=y -> web-1-a:8080', 'allow', ''],
  ['app=visitor -> web-1-a:8080', 'allow', ''],
  ['guest/app=other -> web-1-a:8080', 'deny', ''],
  ['guest/visitor -> shop/app=web:8080', 'allow', ''],
  ['app=web -> app=web:8080', 'deny', ''],
] as const)('answer() %s: %s', (text, verdict, differs) => {
  const found = ask(text);
  expect([found.verdict, found.differsBy.join(' and ')]).toEqual([verdict, differs]);
});

describe('answer()', () => {
  test('judges each endpoint of a Service on the port that it listens on, in both families', () => {
    const { cases } = ask('deploy/web -> svc/web:80');
    expect(groupsOf(cases).map(({ to, port, families }) => [to, port, families.length])).toEqual([
      ['shop/web-1-a', 8080, 2],
      ['shop/web-1-b', 9090, 2],
      ['shop/web-1-a', 8080, 2],
      ['shop/web-1-b', 9090, 2],
    ]);
  });

  test('takes the endpoints that the cluster wrote down, and of these those that are ready', () => {
    const { cases } = ask('guest/visitor -> svc/written:80');
    expect(cases.map(({ to }) => [to.endpoint.name, to.port])).toEqual([['shop/web-1-b', 9090]]);
  });

  test('takes the endpoints of an Endpoints object where there is no slice: those that are ready', () => {
    const { cases } = ask('deploy/web -> svc/legacy:80');
    expect([...new Set(cases.map(({ to, family }) => `${to.endpoint.name} ${to.port} ${family}`))]).toEqual([
      'shop/web-1-a 8080 ip',
      'shop/web-1-a 8080 ip6',
    ]);
    const slice = shop.inventory.slices.get('shop/written-a')!;
    const slices = new Map(shop.inventory.slices).set('x', { ...slice, service: 'shop/legacy', ports: [] });
    const sliced = ask('guest/visitor -> svc/legacy:80', {
      ...shop,
      inventory: { ...shop.inventory, slices },
    });
    expect(sliced.verdict).toBe('undecided');
  });

  test('says that a Service is another name of what DNS has to tell', () => {
    const policy = clusterView(`
apiVersion: policy.networking.k8s.io/v1alpha2
kind: ClusterNetworkPolicy
metadata: { name: mail }
spec:
  tier: Admin
  priority: 1
  subject: { namespaces: {} }
  egress: [{ action: Accept, to: [{ domainNames: [db.example.com] }] }, { action: Deny, to: [{ networks: [0.0.0.0/0] }] }]
`).cluster.policies;
    const { verdict, notes } = ask('guest/visitor -> svc/elsewhere:443', {
      ...shop,
      cluster: { ...shop.cluster, policies: new Map([...shop.cluster.policies, ...policy]) },
    });
    expect([verdict, notes]).toEqual([
      'allow',
      [
        'Service shop/elsewhere is another name of db.example.com',
        expect.stringContaining('allowed once an answer of DNS to guest/visitor'),
      ],
    ]);
  });

  test('is undecided where Services are other names of each other', () => {
    const alias = (name: string, of: string) =>
      `{ apiVersion: v1, kind: Service, metadata: { name: ${name}, namespace: shop }, spec: { type: ExternalName, externalName: ${of}.shop.svc } }`;
    const { services } = clusterView([alias('l1', 'l2'), alias('l2', 'l1')].join('\n---\n')).inventory;
    const inventory = { ...shop.inventory, services: new Map([...shop.inventory.services, ...services]) };
    const { verdict } = ask('guest/visitor -> shop/svc/l1:80', { ...shop, inventory });
    expect(verdict).toBe('undecided');
  });

  test('says of which addresses of the world what holds', () => {
    const groups = groupsOf(ask('internet@4 -> web-1-a:8080').cases);
    expect(groups.find(({ verdict }) => verdict === 'allow')?.addresses).toBe('198.51.100.0/24');
  });

  test('says which family the stricter verdict is of', () => {
    expect(ask('cronjob/backup -> internet:443').families).toEqual({ ip: 'allow', ip6: 'deny' });
  });

  test('a pod that reaches itself through a Service is subject to policy', () => {
    expect(ask('web-1-a -> web-1-a:8080').verdict).toBe('allow');
    expect(ask('web-1-a -> svc/web:80').verdict).toBe('deny');
  });

  test('an address that may be a Service is no verdict, unless all Services are known', () => {
    const unknown = ask('guest/visitor -> 10.200.0.1:80');
    expect(unknown.reason).toMatch(
      /^10\.200\.0\.1 may be the address of a Service, and no Service that is known/,
    );
    const kubernetes = {
      ...shop.inventory.services.get('shop/web')!,
      key: 'default/kubernetes',
      clusterIps: [],
    } as const;
    const services = new Map([...shop.inventory.services, [kubernetes.key, kubernetes] as const]);
    const whole = { ...shop, inventory: { ...shop.inventory, services } };
    expect(ask('guest/visitor -> 10.200.0.1:80', whole).verdict).toBe('allow');
  });
});

test.each([
  ['guest/nobody -> web-1-a:80', 'whether there is a pod guest/nobody is not known: you may not list pods'],
  [
    'deploy/none -> web-1-a:80',
    'whether there is a Deployment shop/none is not known: you may not list deployments',
  ],
  [
    'guest/visitor -> svc/none:80',
    'whether there is a Service shop/none is not known: you may not list services',
  ],
  ['guest/visitor -> node/none:80', 'whether there is a node none is not known: you may not list nodes'],
])('answer() takes nothing for absent that the caller may not list: %s', (text, message) => {
  const asked: string[] = [];
  const mayNotList = (plural: string, namespace?: string) => asked.push(`${plural} ${namespace}`) > 0;
  expect(() => ask(text, { ...shop, knowsInventory: false, mayNotList })).toThrow(message);
  expect(new Set(asked).size).toBe(1);
  expect(() => ask(text, { ...shop, mayNotList: () => false })).toThrow('there is no ');
});

const agentKnows = { ...shop, inventory: NO_INVENTORY, knowsInventory: false };

test.each([
  ['guest/visitr -> web-1-a:80', 'there is no pod guest/visitr; did you mean guest/visitor?'],
  ['deploy/wev -> web-1-a:80', 'there is no Deployment shop/wev; did you mean shop/deploy/web?'],
  ['guest/visitor -> svc/wbe:80', 'there is no Service shop/wbe; did you mean shop/web?'],
  ['shop/peers -> web-1-a:80', 'no connection comes from a Service'],
  [
    'guest/visitor -> web-9.peers.shop.svc:80',
    'no pod behind the Service is called web-9 (shop/web-1-a, shop/web-1-b)',
  ],
  [
    'guest/visitor -> svc/web:81',
    'Service shop/web has no port 81/TCP (ports of Service shop/web: 80/TCP (web))',
  ],
  ['guest/visitor -> node/n2:80', 'there is no node n2'],
  ['svc/web -> web-1-a:80', 'no connection comes from a Service'],
  ['web.shop -> web-1-a:80', 'no connection comes from a Service'],
  ['guest/visitor -> guest/svc/peers:80', 'there is no Service guest/peers; did you mean shop/peers?'],
  ['guest/deploy/web -> web-1-a:80', 'there is no Deployment guest/web; did you mean shop/deploy/web?'],
  ['visitor -> web-1-a:80', 'there is no pod shop/visitor; did you mean guest/visitor?'],
  ['n1 -> web-1-a:80', 'there is no pod shop/n1; did you mean node/n1?'],
  ['guest/visitor:80 -> web-1-a:80', 'only the destination has a port'],
  ['guest/visitor -> web-1-a:nope', 'is not a port from 1 to 65535, nor the name of one of shop/web-1-a'],
  ['guest/visitor -> web-1-a:0', 'is not a port from 1 to 65535'],
  ['guest/visitor -> web-1-a@6:80', '"guest/visitor" or "web-1-a@6:80" has no IPv6 address'],
  ['10.0.0.1 -> fd00::1', 'are not of one address family'],
  ['127.0.0.1 -> web-1-a:80', 'never leaves its pod or node'],
  ['a/b/c/d -> web-1-a:80', 'is no pod, workload, Service, node, address, DNS name or labels'],
  ['guest/visitor -> svc/elsewhere:sql', 'has no ports by name'],
] as const)('answer() says what is wrong with %s', (text, message) => {
  expect(() => ask(text)).toThrow(message);
});

test.each([
  ['deploy/web -> web-1-a:80', 'the agent knows no Deployments'],
  ['guest/visitor -> svc/web:80', 'the agent knows no Services'],
])('answer() of an agent says what it does not know: %s', (text, message) => {
  expect(() => ask(text, agentKnows)).toThrow(message);
});

test('a Service of another namespace with the same name is meant rather than one with a name that is alike', () => {
  const service = (namespace: string, name: string) =>
    `{ apiVersion: v1, kind: Service, metadata: { name: ${name}, namespace: ${namespace} }, spec: { selector: { app: a }, ports: [{ port: 80 }] } }`;
  const view = clusterView([service('data', 'db'), service('shop', 'dc')].join('\n---\n'));
  expect(() => answer(view, { from: '10.0.0.1', to: 'shop/svc/db:80' })).toThrow(
    'there is no Service shop/db; did you mean data/db?',
  );
});

test('a name without a kind is that of a pod, else of one workload, else of a Service', () => {
  const workload = (kind: string) =>
    `{ apiVersion: apps/v1, kind: ${kind}, metadata: { name: api, namespace: shop }, spec: { template: { metadata: { labels: { app: api } } } } }`;
  const pod =
    '{ apiVersion: v1, kind: Pod, metadata: { name: api, namespace: shop }, status: { podIP: 10.0.0.2 } }';
  const service =
    '{ apiVersion: v1, kind: Service, metadata: { name: api, namespace: shop }, spec: { selector: { app: api }, ports: [{ port: 80, targetPort: 3000 }, { port: 81 }] } }';
  const viewOf = (...objects: string[]) => clusterView(objects.join('\n---\n'));
  const asked = (view: ReturnType<typeof viewOf>, port = 80) => {
    const { decisive, notes } = ask(`10.0.0.1 -> shop/api:${port}`, view);
    return [`${decisive?.to.endpoint.name}:${decisive?.to.port}`, ...notes];
  };
  const all = [pod, workload('Deployment'), service];
  expect(asked(viewOf(...all))).toEqual(['shop/api:80']);
  const note =
    'shop/api is taken for Deployment shop/api: for port 80 of the Service, ask for shop/svc/api:80';
  expect(asked(viewOf(...all.slice(1)))).toEqual(['shop/deploy/api:80', note]);
  expect(asked(viewOf(...all.slice(1)), 81)).toEqual(['shop/deploy/api:81']);
  const behind = workload('Deployment').replace('name: api', 'name: other');
  expect(asked(viewOf(behind, service))[0]).toBe('shop/deploy/other:3000');
  expect(() => asked(viewOf(workload('Deployment'), workload('StatefulSet'), service))).toThrow(
    'there is no pod shop/api; did you mean shop/deploy/api or shop/sts/api or shop/svc/api?',
  );
  const mayNotList = (plural: string) => plural === 'pods';
  expect(() => asked({ ...viewOf(...all.slice(1)), mayNotList })).toThrow('is not known');
});
