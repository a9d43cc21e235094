/** Which connections manifests name, and which of the things that they name are none. */
import { expect, test } from 'vitest';
import { clusterView } from '../../../test/support/questions/clusterview.ts';
import { referencesIn } from '../../inputs/files/references.ts';
import { withApiServer } from '../questions/apiserver.ts';
import { endText, guessConnections } from './guess.ts';
import { hostsIn } from './hosts.ts';
import { policiesFor } from './policies.ts';

type Fields = Readonly<Record<string, unknown>>;

const workload = (name: string, container: Fields = {}, spec: Fields = {}, kind = 'Deployment') => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name, namespace: 'shop' },
  spec: {
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: {
        containers: [{ name: 'c', ports: [{ name: 'main', containerPort: 8080 }], ...container }],
        ...spec,
      },
    },
  },
});
const service = (name: string, spec: Fields = {}, labels: Fields = {}) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'shop', labels },
  spec: { selector: { app: name }, ports: [{ name: 'http', port: 80, targetPort: 'main' }], ...spec },
});
const variable = (name: string, value: string) => ({ env: [{ name, value }] });

const API = [workload('api'), service('api')];

function guessed(
  objects: readonly object[],
  endpoints: readonly string[] = [],
  controllers: readonly string[] = [],
) {
  const text = objects.map(object => JSON.stringify(object)).join('\n---\n');
  const view = clusterView(text);
  const world = { ...view, inventory: withApiServer(view.inventory, endpoints) };
  const found = guessConnections(world, referencesIn(text), controllers);
  const named = found.guesses.filter(({ to }) => to !== 'dns');
  return {
    world,
    found,
    connections: named.map(
      ({ from, to, protocol, port }) => `${endText(from)} -> ${endText(to)} ${protocol} ${port}`,
    ),
    why: named.flatMap(each => each.why),
    not: [...found.notGuessed].flatMap(([why, where]) => [...where].map(each => `${each}: ${why}`)),
  };
}

const TO_API = ['Deployment shop/web -> Deployment shop/api TCP 8080'];

test.each([
  ['API_URL', 'http://api'],
  ['API_URL', 'http://api/v1?x=http://api'],
  ['API_URL', 'http://user:secret@api.shop:80'],
  ['X', 'api.shop.svc:80'],
  ['X', 'api.shop.svc.cluster.local:80'],
  ['X', 'API.shop.svc.example.org.:80'],
  ['X', 'grpc://api.shop.svc'],
  ['X', 'http://api.shop'],
  ['X', 'user:pw@tcp(api:80)/db'],
  ['API_HOST', 'api'],
  ['api-service', 'api'],
  ['X', '{"upstream":"http://api:80"}'],
  ['X', 'a,b,api:80;c'],
  ['X', '--upstream=http://api'],
])('%s=%s names a Service', (name, value) => {
  expect(guessed([workload('web', variable(name, value)), ...API]).connections).toEqual(TO_API);
});

test.each([
  ['MODE', 'api'],
  ['API_HOST', 'the api'],
  ['X', 'localhost:80'],
  ['X', 'http://127.0.0.1:80'],
  ['X', 'web.yaml'],
  ['X', 'nginx:1.27'],
  ['X', 'api:80000'],
  ['X', `${'a'.repeat(600)}http://api:80`],
  ['X', '-:80'],
  ['X', ''],
])('%s=%s names nobody', (name, value) => {
  const { connections, not } = guessed([workload('web', variable(name, value)), ...API]);
  expect([connections, not]).toEqual([[], []]);
});

test.each([
  ['https://api.example.com/v1', 'api.example.com is outside of the cluster'],
  ['http://gone.shop.svc', 'there is no Service shop/gone among the manifests'],
  ['redis://cache:6379', 'there is no Service shop/cache among the manifests'],
  ['10.0.0.7:5432', '10.0.0.7 is an address, of which the manifests say nothing'],
  ['http://api:8080', 'Service shop/api has no port 8080'],
  [
    'https://kubernetes.default.svc',
    'the endpoints of the API server are not known (--api-server 172.18.0.2:6443 names them)',
  ],
])('%s is no guess, and a sentence says why', (value, why) => {
  const { connections, not } = guessed([workload('web', variable('X', value)), ...API]);
  expect(connections).toEqual([]);
  expect(not).toEqual([`Deployment shop/web spec.template.spec.containers[0].env[0] (X): ${why}`]);
});

test.each([
  [
    { type: 'ExternalName', externalName: 'db.example.com' },
    'is another name of db.example.com, outside of the cluster',
  ],
  [{ selector: null }, 'has no selector'],
  [{ selector: { app: 'nobody' } }, 'selects nobody of the manifests'],
  [
    { ports: [{ port: 80, targetPort: 'other' }] },
    'leads to port "other", which Deployment shop/api does not have',
  ],
])('a Service %j leads nowhere that is known', (spec, why) => {
  const { connections, not } = guessed([
    workload('web', variable('X', 'http://api')),
    workload('api'),
    service('api', spec as Fields),
  ]);
  expect(connections).toEqual([]);
  expect(not).toEqual([expect.stringContaining(`Service shop/api ${why}`)]);
});

test('the port is the one that is written beside the host, that of the scheme, or all of the Service', () => {
  const both = service('api', {
    ports: [
      { name: 'a', port: 80, targetPort: 8080 },
      { name: 'b', port: 5432 },
    ],
  });
  const ask = (...env: readonly Fields[]) =>
    guessed([workload('web', { env }), workload('api'), both]).connections;
  const to = (port: number) => `Deployment shop/web -> Deployment shop/api TCP ${port}`;
  expect(ask({ name: 'API_HOST', value: 'api' }, { name: 'API_PORT', value: '5432' })).toEqual([to(5432)]);
  expect(ask({ name: 'apiHost', value: 'api' }, { name: 'apiPort', value: 'none' })).toEqual([
    to(8080),
    to(5432),
  ]);
  expect(ask({ name: 'X', value: 'postgres://api/db' })).toEqual([to(5432)]);
});

test('a headless Service is called on the port of its pods, one of them by its name', () => {
  const db = [
    workload('db', {}, {}, 'StatefulSet'),
    service('db', { clusterIP: 'None', ports: [{ port: 5432 }] }),
  ];
  const ask = (value: string) => guessed([workload('web', variable('X', value)), ...db]).connections;
  for (const value of ['db-0.db:9000', 'db-0.db.shop:9000', 'db-0.db.shop.svc:9000', 'db:9000'])
    expect(ask(value)).toEqual(['Deployment shop/web -> StatefulSet shop/db TCP 9000']);
});

test('arguments, commands and ConfigMaps say so too, and the reason names object and field', () => {
  const config = (data: Fields) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'web', namespace: 'shop' },
    data,
  });
  const of = 'Deployment shop/web spec.template.spec';
  const why = (container: Fields, spec: Fields = {}, data: Fields = { URL: 'http://api', OTHER: 'x' }) => {
    const found = guessed([workload('web', container, spec), ...API, config(data)]);
    expect(found.connections).toEqual(TO_API);
    return found.why;
  };
  expect(why({ args: ['--api', 'http://api'] })).toEqual([`${of}.containers[0].args[1] (--api)`]);
  expect(why({ command: ['sh', '-c', 'wget -q http://api'] })).toEqual([
    `${of}.containers[0].command[2] (-c)`,
  ]);
  expect(why({ envFrom: [{ configMapRef: { name: 'web' } }] })).toEqual([
    `ConfigMap shop/web data.URL, by ${of}.containers[0].envFrom[0]`,
  ]);
  const one = { name: 'API_HOST', valueFrom: { configMapKeyRef: { name: 'web', key: 'h' } } };
  expect(why({ env: [one] }, {}, { h: 'api', URL: 'http://web:1' })).toEqual([
    `ConfigMap shop/web data.h, by ${of}.containers[0].env[0]`,
  ]);
  expect(why({}, { volumes: [{ configMap: { name: 'web' } }] }, { 'a.conf': 'pass http://api;' })).toEqual([
    `ConfigMap shop/web data.a.conf, by ${of}.volumes[0]`,
  ]);
  expect(why({}, { initContainers: [{ name: 'i', args: ['api.shop.svc:80'] }] })).toEqual([
    `${of}.initContainers[0].args[0]`,
  ]);
});

test('what leads in from outside is open to anyone, or to the controller that is there', () => {
  const ingress = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: 'i', namespace: 'shop' },
    spec: { defaultBackend: { service: { name: 'api', port: { name: 'http' } } } },
  };
  expect(guessed([...API, ingress]).connections).toEqual(['anyone -> Deployment shop/api TCP 8080']);
  const of = (className: string) => ({ ...ingress, spec: { ...ingress.spec, ingressClassName: className } });
  const [assumed] = guessed([...API, of('nginx')]).why;
  expect(guessed([...API, of('nginx')]).connections).toEqual([
    'controller ingress-nginx -> Deployment shop/api TCP 8080',
  ]);
  expect(assumed).toMatch(
    /^Ingress shop\/i spec\.defaultBackend\.service; there is no pod of ingress-nginx: assumed are pods /,
  );
  const unknown = guessed([...API, of('own')]);
  expect(unknown.connections).toEqual(['anyone -> Deployment shop/api TCP 8080']);
  expect(unknown.why).toEqual([expect.stringContaining('; which pods serve it is not known')]);
  const labels = { 'app.kubernetes.io/name': 'ingress-nginx', 'app.kubernetes.io/component': 'controller' };
  const controller = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'nginx', namespace: 'shop', labels },
    spec: { containers: [] },
  };
  const byPod = ['Pod shop/nginx -> Deployment shop/api TCP 8080'];
  expect(guessed([...API, of('nginx'), controller]).connections).toEqual(byPod);
  const onNode = { ...controller, spec: { containers: [], hostNetwork: true } };
  expect(guessed([...API, of('nginx'), onNode]).connections).toEqual([
    'anyone -> Deployment shop/api TCP 8080',
  ]);
  expect(guessed([...API, of('own')], [], ['edge/app=own']).connections).toEqual([
    'controller edge/app=own -> Deployment shop/api TCP 8080',
  ]);
  const { world, found } = guessed([...API, of('nginx')]);
  expect(policiesFor(world, found).objects.at(-1)!.object).toMatchObject({
    spec: { ingress: [{ from: [{ namespaceSelector: {}, podSelector: { matchLabels: labels } }] }] },
  });
  const open = guessed([workload('api'), service('api', { type: 'NodePort' })]);
  expect(open.connections).toEqual(['anyone -> Deployment shop/api TCP 8080']);
  expect(open.why).toEqual(['Service shop/api spec.type (NodePort)']);
});

test('monitors are of a Prometheus that is there', () => {
  const monitor = (kind: string, spec: Fields) => ({
    apiVersion: 'monitoring.coreos.com/v1',
    kind,
    metadata: { name: 'm', namespace: 'shop' },
    spec: { selector: { matchLabels: { app: 'api' } }, ...spec },
  });
  const app = [workload('api'), service('api', {}, { app: 'api' })];
  const [services, pods] = [
    monitor('ServiceMonitor', { endpoints: [{ port: 'http' }] }),
    monitor('PodMonitor', { podMetricsEndpoints: [{ port: 'main' }] }),
  ];
  const prometheus = {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'Prometheus',
    metadata: { name: 'k8s', namespace: 'mon' },
    spec: {},
  };
  for (const each of [services, pods]) {
    expect(guessed([...app, each, prometheus]).connections).toEqual([
      'Prometheus mon/k8s -> Deployment shop/api TCP 8080',
    ]);
    expect(guessed([...app, each]).not).toEqual([
      expect.stringContaining('there is no Prometheus among the manifests'),
    ]);
  }
  const elsewhere = monitor('ServiceMonitor', {
    endpoints: [{ port: 'http' }],
    namespaceSelector: { matchNames: ['data'] },
  });
  expect(guessed([...app, elsewhere, prometheus]).connections).toEqual([]);
  const { world, found } = guessed([...app, services, prometheus]);
  const namespaces = policiesFor(world, found).objects.map(
    ({ object }) => (object as { metadata: { namespace: string } }).metadata.namespace,
  );
  expect(new Set(namespaces)).toEqual(new Set(['shop']));
});

test('who may call the API server reaches its endpoints, and it reaches webhooks', () => {
  const binding = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'op' },
    subjects: [{ kind: 'ServiceAccount', name: 'op', namespace: 'shop' }],
  };
  const hook = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'op' },
    webhooks: [{ clientConfig: { service: { namespace: 'shop', name: 'op', port: 80 } } }],
  };
  const objects = [
    workload('op', {}, { serviceAccountName: 'op' }),
    service('op'),
    workload('web'),
    binding,
    hook,
  ];
  const { connections, why, world, found } = guessed(objects, ['172.18.0.2:6443', '172.18.0.3:6443']);
  expect(connections).toEqual([
    'api server -> Deployment shop/op TCP 8080',
    'Deployment shop/op -> api server TCP 6443',
  ]);
  expect(why).toEqual([
    'ValidatingWebhookConfiguration op webhooks[0].clientConfig.service',
    'ClusterRoleBinding op subjects (shop/op, of Deployment shop/op)',
  ]);
  const { objects: policies, remarks } = policiesFor(world, found);
  const blocks = [{ ipBlock: { cidr: '172.18.0.2/32' } }, { ipBlock: { cidr: '172.18.0.3/32' } }];
  expect(policies.at(-1)!.object).toMatchObject({
    spec: {
      ingress: [{ from: blocks, ports: [{ port: 8080 }] }],
      egress: [{ to: blocks, ports: [{ port: 6443 }] }],
    },
  });
  expect([...remarks.keys()]).toEqual(['172.18.0.2/32', '172.18.0.3/32']);
  expect(guessed(objects).not).toHaveLength(2);
});

test('pods on the network of their node, and those that no selector means, are no ends', () => {
  const node = guessed([
    workload('web', variable('X', 'http://api')),
    workload('api', {}, { hostNetwork: true }),
    service('api'),
  ]);
  expect(node.connections).toEqual([]);
  expect(node.not).toEqual([expect.stringContaining('Deployment shop/api is on the network of its node')]);
  const job = {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name: 'tick', namespace: 'shop' },
    spec: {
      jobTemplate: { spec: { template: { spec: { containers: [{ name: 'c', args: ['http://api'] }] } } } },
    },
  };
  const { world, found } = guessed([job, ...API]);
  const { objects, notWritten } = policiesFor(world, found);
  expect(notWritten).toEqual([
    'CronJob shop/tick: it has no label of its own, so give its template (or manifest) one',
    expect.stringContaining(
      'suggested-default-deny and suggested-dns of shop: they would cut off CronJob shop/tick',
    ),
  ]);
  expect(specsOf(objects)).toEqual({
    'allow-api': {
      podSelector: { matchLabels: { app: 'api' } },
      policyTypes: ['Ingress', 'Egress'],
      egress: [
        { to: [expect.anything()], ports: [expect.objectContaining({ port: 53 }), expect.anything()] },
      ],
    },
  });
});

type Spec = Readonly<Record<string, unknown>>;

const specsOf = (objects: readonly { readonly object: object }[]) =>
  Object.fromEntries(
    objects.map(({ object }) => {
      const { metadata, spec } = object as { metadata: { name: string }; spec: Spec };
      return [metadata.name, spec];
    }),
  );

const labelled = (name: string, app: string, container: Fields = {}) => {
  const text = JSON.stringify(workload(name, container));
  return JSON.parse(text.replaceAll(`"app":"${name}"`, `"app":${JSON.stringify(app)}`)) as object;
};

test('a peer that no policy can name is left out alone, and nothing isolates it', () => {
  const bad = labelled('bad', 'no value!', variable('X', 'http://api'));
  const leads = service('bad', { selector: { app: 'no value!' } });
  const asks = [variable('A', 'http://bad').env[0], variable('B', 'http://api').env[0]];
  const { world, found } = guessed([workload('web', { env: asks }), ...API, bad, leads]);
  const { objects, notWritten } = policiesFor(world, found);
  const { 'allow-web': web, 'allow-api': api, ...others } = specsOf(objects);
  expect(others).toEqual({});
  expect(web!.egress).toMatchObject([{ ports: [{ port: 53 }, { port: 53 }] }, { ports: [{ port: 8080 }] }]);
  expect(api!.ingress).toEqual([
    { from: [{ podSelector: { matchLabels: { app: 'web' } } }], ports: [{ protocol: 'TCP', port: 8080 }] },
  ]);
  expect(notWritten[0]).toMatch(/^Deployment shop\/bad: podSelector\.matchLabels\.app .*"no value!"/);
});

test('more peers than a policy may have are in several, and a namespace without room leaves its workload as it is', () => {
  const world = (count: number) =>
    guessed([
      workload('api'),
      service('api'),
      ...Array.from({ length: count }, (_, at) => workload(`web${at}`, variable('X', 'http://api'))),
    ]);
  const some = world(300);
  const { objects, notWritten } = policiesFor(some.world, some.found);
  const own = objects
    .map(({ policy }) => policy)
    .filter(({ id }) => id.startsWith('NetworkPolicy shop/allow-api'));
  expect(own.map(({ id, ingress }) => [id, ingress!.length])).toEqual([
    ['NetworkPolicy shop/allow-api', 150],
    ['NetworkPolicy shop/allow-api-2', 150],
  ]);
  expect([objects.length, notWritten]).toEqual([304, []]);
  const many = world(1_100);
  const beyond = policiesFor(many.world, many.found);
  expect(beyond.notWritten).toEqual([
    'Deployment shop/api: the namespace has no room for its rules',
    expect.stringContaining('cut off Deployment shop/api'),
  ]);
  expect(beyond.objects).toHaveLength(1_100);
});

test.each([
  [{ app: 'no value!' }, 53],
  [{ 'bad key': 'dns' }, 53],
  [{ app: 'dns' }, 'a-name-that-is-too-long'],
])('a DNS that no policy can name, by %j and port %s, is taken to be as usual', (selector, targetPort) => {
  const dns = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'kube-dns', namespace: 'kube-system' },
    spec: { selector, ports: [{ name: 'dns', port: 53, protocol: 'UDP', targetPort }] },
  };
  const { world, found } = guessed([...API, dns]);
  const { objects, notWritten } = policiesFor(world, found);
  expect(specsOf(objects)['suggested-dns']).toMatchObject({
    egress: [{ to: [{ podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } } }] }],
  });
  expect(notWritten).toEqual([expect.stringMatching(/^Service kube-system\/kube-dns: .*is taken instead$/)]);
});

test('what makes pods whose labels nobody knows is not cut off', () => {
  const kafka = {
    apiVersion: 'kafka.strimzi.io/v1beta2',
    kind: 'Kafka',
    metadata: { name: 'events', namespace: 'shop' },
    spec: { kafka: { replicas: 3 } },
  };
  const { world, found } = guessed([...API, kafka]);
  const { objects, notWritten } = policiesFor(world, found);
  expect(Object.keys(specsOf(objects))).toEqual(['allow-api']);
  expect(notWritten).toEqual([expect.stringContaining('cut off Kafka shop/events')]);
});

test('names of policies are ones that an API server takes, each once', () => {
  const long = 'x'.repeat(238);
  const named = (name: string, app: string) =>
    ({ ...labelled(app, app, variable('X', 'http://api')), metadata: { name, namespace: 'shop' } }) as object;
  const { world, found } = guessed([
    ...API,
    named('Web.Café', 'a'),
    named('web.caf-', 'b'),
    named(`${long}-y`, 'c'),
    named(`${long}-z`, 'd'),
    named('\x1b[2J', 'e'),
  ]);
  const names = Object.keys(specsOf(policiesFor(world, found).objects)).filter(each =>
    each.startsWith('allow'),
  );
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^[a-z0-9]([-a-z0-9]{0,251}[a-z0-9])?$/);
});

test('a policy that is there keeps its name, and DNS is that of the Service', () => {
  const policy = {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'allow-api', namespace: 'shop' },
    spec: { podSelector: {} },
  };
  const dns = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'kube-dns', namespace: 'kube-system' },
    spec: {
      selector: { app: 'dns' },
      ports: [
        { name: 'dns', port: 53, protocol: 'UDP', targetPort: 8053 },
        { name: 'metrics', port: 9153 },
      ],
    },
  };
  const { world, found } = guessed([workload('web', variable('X', 'http://api')), ...API, policy, dns]);
  const { objects } = policiesFor(world, found);
  expect(objects.map(({ object }) => (object as { metadata: { name: string } }).metadata.name)).toEqual([
    'suggested-default-deny',
    'suggested-dns',
    'allow-web',
    'allow-api-2',
  ]);
  expect(objects[1]!.object).toMatchObject({
    spec: {
      egress: [
        { to: [{ podSelector: { matchLabels: { app: 'dns' } } }], ports: [{ protocol: 'UDP', port: 8053 }] },
      ],
    },
  });
});

test('a huge text is read to its limit, and without looking back', () => {
  expect(hostsIn(`${'a:'.repeat(1_000_000)}http://api:80`)).toEqual([]);
  expect(hostsIn(`http://api:80 ${'@='.repeat(200)} ${'x '.repeat(100_000)} http://late:80`)).toMatchObject([
    { host: 'api' },
    { host: 'x' },
  ]);
});
