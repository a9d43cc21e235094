import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { AskedApi } from '../../../../test/support/api/askedapi.ts';
import { ApiError } from '../client/api.ts';
import { type ListedKinds, lackTexts, listOnce, namespacesRead } from './listonce.ts';
import { MeasuredApi } from './measure.ts';

const metadata = { name: 'web', namespace: 'shop' };
const OBJECTS = [
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
  { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } },
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...metadata,
      annotations: { large: 'x' },
      ownerReferences: [{ kind: 'ReplicaSet', name: 'web-1', controller: true }],
    },
    spec: {
      containers: [{ image: 'x', ports: [{ containerPort: 8080, hostPort: 80, hostIP: '10.0.0.1' }] }],
    },
  },
  { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'visitor', namespace: 'guest' }, spec: {} },
  { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata, spec: { podSelector: {} } },
  {
    apiVersion: 'policy.networking.k8s.io/v1alpha2',
    kind: 'ClusterNetworkPolicy',
    metadata: { name: 'platform' },
    spec: { tier: 'Admin', priority: 1, subject: { namespaces: {} } },
  },
  { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { template: {} } },
  { apiVersion: 'v1', kind: 'Service', metadata, spec: { clusterIP: '10.96.0.1' } },
];

const ALL: ListedKinds = { workloads: true, services: true, namespaces: ['shop'] };
const read = (api: AskedApi, wanted = ALL) => listOnce(api, wanted, () => {}, new AbortController().signal);

test('listOnce() reads what policy sees, and what people name it by', async () => {
  const { events, items, problems, lacks } = await read(new AskedApi(OBJECTS));
  expect(events.map(({ key }) => key).sort()).toEqual([
    'ClusterNetworkPolicy platform',
    'NetworkPolicy shop/web',
    'guest/visitor',
    'n1',
    'shop',
    'shop/web',
  ]);
  expect(items.map(({ type }) => type).sort()).toEqual(['pod', 'service', 'workload']);
  expect(items).toContainEqual(
    expect.objectContaining({
      owner: { kind: 'ReplicaSet', name: 'web-1' },
      hostPorts: [{ protocol: 'TCP', hostPort: 80, port: 8080, hostIp: '10.0.0.1' }],
    }),
  );
  expect([problems, lacks]).toEqual([[], []]);
});

const ENTRANCES = [
  {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { ...metadata, annotations: { 'kubernetes.io/ingress.class': 'nginx', large: 'x' } },
    spec: { defaultBackend: { service: { name: 'web', port: { number: 80 } } } },
  },
  {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'IngressClass',
    metadata: { name: 'nginx' },
    spec: { controller: 'k8s.io/ingress-nginx' },
  },
];

test('listOnce() reads what leads clients from outside to Services, if that is wanted', async () => {
  const found = async (wanted: ListedKinds, refused: readonly string[] = []) => {
    const { items, lacks } = await read(new AskedApi([...OBJECTS, ...ENTRANCES], refused), wanted);
    const entrances = items.filter(({ type }) => type.startsWith('entrance'));
    return { entrances, effects: lacks.map(({ effect }) => effect) };
  };
  const wanted = { ...ALL, entrances: true };
  const ingress = {
    type: 'entrance',
    value: expect.objectContaining({
      object: 'Ingress shop/web',
      servedBy: { kind: 'class', name: 'nginx' },
    }),
  };
  const ofNginx = {
    type: 'entranceClass',
    value: { kind: 'IngressClass', name: 'nginx', controller: 'k8s.io/ingress-nginx' },
  };
  expect(await found(ALL)).toEqual({ entrances: [], effects: [] });
  expect(await found(wanted)).toEqual({ entrances: [ingress, ofNginx], effects: [] });
  expect(await found(wanted, ['ingresses'])).toEqual({
    entrances: [ofNginx],
    effects: ['what clients outside reach by way of them is not in the answer'],
  });
  // The answer names the Ingress of which it is not known who serves it.
  expect(await found(wanted, ['ingressclasses'])).toEqual({ entrances: [ingress], effects: [] });
  const asked = new AskedApi(OBJECTS);
  await read(asked, wanted);
  expect(asked.asked.filter(path => /gateway|openshift/.test(path))).toEqual([]);
});

test('listOnce() asks for no more than is wanted', async () => {
  const api = new AskedApi(OBJECTS, ['deployments', 'services']);
  const { lacks } = await read(api, { workloads: false, services: false, namespaces: [] });
  expect(lacks).toEqual([]);
  expect(api.asked.filter(path => /deployments|services/.test(path))).toEqual([]);
});

test.each([
  ['pods', false, /the others are not known: their addresses are judged as those of no pod$/],
  ['namespaces', false, /a rule that selects namespaces by label allows nothing, and may deny$/],
  ['nodes', false, /rules about nodes match nothing$/],
  ['networkpolicies', true, /what follows is no verdict$/],
  ['clusternetworkpolicies', true, /what follows is no verdict$/],
  ['adminnetworkpolicies', true, /what follows is no verdict$/],
  ['deployments', false, /cannot be asked about by name/],
  ['statefulsets', false, /cannot be asked about by name/],
  ['daemonsets', false, /cannot be asked about by name/],
  ['replicasets', false, /cannot be asked about by name/],
  ['replicationcontrollers', false, /cannot be asked about by name/],
  ['jobs', false, /cannot be asked about by name/],
  ['cronjobs', false, /cannot be asked about by name/],
  ['services', false, /an address may be that of a Service, which could not be looked up$/],
  ['endpointslices', false, /a Service's endpoints are taken from its selector$/],
])(
  'listOnce() without the right to list %s reads all else, and says what it lacks',
  async (plural, hides, effect) => {
    const { events, items, lacks } = await read(new AskedApi(OBJECTS, [plural]));
    const whole = await read(new AskedApi(OBJECTS));
    expect(events.length + items.length).toBeLessThanOrEqual(whole.events.length + whole.items.length);
    expect(lacks).toEqual([expect.objectContaining({ resource: plural, hidesPolicies: hides })]);
    expect(lackTexts(lacks)[0]).toMatch(new RegExp(`^you may not list ${plural} \\(User "eve" cannot list`));
    expect(lackTexts(lacks)[0]).toMatch(effect);
  },
);

test('listOnce() falls back to the namespaces that the question is about', async () => {
  const { events, lacks } = await read(new AskedApi(OBJECTS, ['pods'], ['shop']));
  expect(events.filter(({ type }) => type === 'pod').map(({ key }) => key)).toEqual(['shop/web']);
  expect(lackTexts(lacks)[0]).toMatch(/^you may not list pods, but in shop \(/);
});

test('of many resources that may not be listed there is one sentence, with the caller and the namespaces that are left', async () => {
  const { lacks } = await read(new AskedApi(OBJECTS, ['pods', 'nodes', 'networkpolicies'], ['shop']));
  expect(lackTexts(lacks)).toEqual([
    'you (eve) may not list pods (but in shop), nodes, networkpolicies (but in shop): what policies say of pods of other namespaces is not known: connections of theirs are undecided',
  ]);
  const others = lacks.filter(({ hidesPolicies }) => !hidesPolicies);
  expect(lackTexts(others)).toHaveLength(2);
  expect(lackTexts([...others, ...others])).toEqual([
    expect.stringMatching(/would need of them is not known$/),
  ]);
});

test('listOnce() reads whom policies of other engines are about, and says where it may not', async () => {
  const cilium = {
    apiVersion: 'cilium.io/v2',
    kind: 'CiliumNetworkPolicy',
    metadata: { name: 'lock', namespace: 'shop' },
    spec: { endpointSelector: { matchLabels: { app: 'web' } }, ingress: [{}] },
  };
  const objects = [...OBJECTS, cilium];
  const foreign = ({ items }: Awaited<ReturnType<typeof read>>) =>
    items.flatMap(item => (item.type === 'foreignPolicy' ? item.value.id : []));
  expect(foreign(await read(new AskedApi(objects)))).toEqual(['CiliumNetworkPolicy shop/lock']);
  expect(foreign(await read(new AskedApi(objects, ['ciliumnetworkpolicies'], ['shop'])))).toHaveLength(1);
  const { lacks } = await read(new AskedApi(objects, ['ciliumnetworkpolicies']));
  expect(lacks).toEqual([expect.objectContaining({ hidesPolicies: false })]);
  expect(lackTexts(lacks)[0]).toMatch(
    /^you may not list ciliumnetworkpolicies .* isolates by them is not known$/,
  );
});

/** Answers when the test says so, and observes the signal of a request for as long as it lasts, as `node:http` does. */
class SlowApi extends AskedApi {
  readonly signals: AbortSignal[] = [];
  readonly #go = Promise.withResolvers<void>();

  override async get(path: string, _: object = {}, signal?: AbortSignal) {
    const body = await super.get(path);
    if (signal === undefined || path.startsWith('/apis/policy.')) return body;
    const aborted = Promise.withResolvers<never>();
    signal.addEventListener('abort', () => aborted.reject(new ApiError('unreachable', `${path}: aborted`)));
    this.signals.push(signal);
    await Promise.race([this.#go.promise, aborted.promise]);
    if (path.endsWith('/nodes')) throw new ApiError(500, 'nodes: 500');
    return body;
  }

  go(): void {
    this.#go.resolve();
  }
}

test('listOnce() lets no ten requests listen to one signal, and ends them all when one fails', async () => {
  const api = new SlowApi(OBJECTS);
  const asked = new AbortController();
  const reading = listOnce(api, ALL, () => {}, asked.signal);
  reading.catch(() => undefined);
  await expect.poll(() => api.signals.length).toBeGreaterThan(10);
  for (const signal of [asked.signal, ...api.signals])
    expect(getEventListeners(signal, 'abort').length).toBeLessThanOrEqual(1);
  api.go();
  await expect(reading).rejects.toThrow('nodes: 500');
  expect(api.signals.every(({ aborted }) => aborted)).toBe(true);
});

/** An answer without end. */
class EndlessApi extends AskedApi {
  readonly #first: string;
  readonly #rest: string;
  isEnded = false;

  constructor(first: string, rest: string) {
    super(OBJECTS);
    this.#first = first;
    this.#rest = rest;
  }

  override async get(path: string): Promise<AsyncIterable<Uint8Array>> {
    return path.endsWith('/pods') ? this.#endless() : super.get(path);
  }

  async *#endless(): AsyncGenerator<Uint8Array> {
    try {
      yield Buffer.from(this.#first);
      // Far behind every limit it ends all the same: a limit that fails must not fill the memory of the machine.
      for (let sent = 0; sent < 2 ** 26; sent += this.#rest.length) yield Buffer.from(this.#rest);
    } finally {
      this.isEnded = true;
    }
  }
}

const LIST = '{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[';

test.each([
  ['objects', LIST, '{"metadata":{"name":"web","namespace":"shop"}},'.repeat(500), 'more than 5,000 objects'],
  ['one text', `${LIST}"`, 'a'.repeat(2 ** 16), 'more than 2 MiB'],
])('listOnce() says in a sentence that an answer of %s has no end', async (_, first, rest, said) => {
  const api = new EndlessApi(first, rest);
  const most = { bytes: 2 ** 21, objects: 5_000 };
  const { signal } = new AbortController();
  const error = await listOnce(api, ALL, () => {}, signal, most).catch(error => error);
  expect(error).toBeInstanceOf(ApiError);
  expect(error.message).toContain(said);
  expect(api.isEnded).toBe(true);
});

test('a list whose pages have no end and no objects is ended too', async () => {
  const api = new MeasuredApi(new AskedApi(OBJECTS), { bytes: 1_000, objects: 500 });
  const ask = () => api.get('/api/v1/pods', {}, new AbortController().signal);
  for (let pages = 0; pages < 10; pages++) await ask();
  await expect(ask()).rejects.toThrow(
    '/api/v1/pods: what is listed has more than 500 objects, if it has an end',
  );
});

test('who reads the policies of the cluster and of a namespace has all that select its pods', async () => {
  const OTHERS = ['pods', 'networkpolicies', 'services', 'deployments'];
  const { lacks } = await read(new AskedApi(OBJECTS, OTHERS, ['shop']));
  expect(namespacesRead(lacks)).toEqual(['shop']);
  expect(lackTexts(lacks)).toEqual([
    'you (eve) may not list pods, networkpolicies, deployments, services outside shop: what policies say of pods of other namespaces is not known: connections of theirs are undecided',
  ]);
  for (const [forbidden, open] of [
    [[...OTHERS, 'clusternetworkpolicies'], ['shop']],
    [OTHERS, []],
    [['pods'], ['shop']],
  ] as const)
    expect(namespacesRead((await read(new AskedApi(OBJECTS, forbidden, open))).lacks)).toBeUndefined();
});

test('who is sure of a namespace is told in one sentence what is not known beyond it', async () => {
  const { lacks } = await read(new AskedApi(OBJECTS, ['pods', 'networkpolicies'], ['shop']));
  expect(lackTexts(lacks)).toEqual([
    'you (eve) may not list pods, networkpolicies outside shop: what policies say of pods of other namespaces is not known: connections of theirs are undecided',
  ]);
});
