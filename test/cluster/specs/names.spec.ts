/** Peers by name with the cluster's own CoreDNS: what ends that are asked for by name are open, and which are not. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask, create, type KubeObject, patch, remove } from './support/api.ts';
import { command, kubectl, proxy, tryKubectl, until } from './support/cluster.ts';
import { nameOf, serveNames } from './support/nameserver.ts';
import { agents, connection, PORT, type RunningPod, type Site, settles, site } from './support/site.ts';
import { sluice } from './support/sluice.ts';

const CRDS = join(import.meta.dirname, '../deploy/crds.sh');

/** A resolver on the node that the client may ask beside the cluster's. */
let cacheNetwork: string[] = [];
let place: Site;
let web: RunningPod;
let db: RunningPod;
let client: RunningPod;
let policy: KubeObject | undefined;
let endNames: (() => void) | undefined;

const inCluster = (service: string) => `${service}.own-names.svc.cluster.local`;
const at = (name: string) => `${name}:${PORT}`;

/** The client may ask DNS, and go to these names and nowhere else. */
const rulesFor = (...domainNames: string[]) => ({
  tier: 'Admin',
  priority: 7,
  subject: {
    pods: {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'own-names' } },
      podSelector: { matchLabels: { name: 'client' } },
    },
  },
  egress: [
    {
      name: 'dns',
      action: 'Accept',
      to: [
        {
          pods: { namespaceSelector: {}, podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } } },
        },
        ...(cacheNetwork.length === 0 ? [] : [{ networks: cacheNetwork }]),
      ],
    },
    { name: 'by-name', action: 'Accept', to: [{ domainNames }] },
    { name: 'nowhere', action: 'Deny', to: [{ networks: ['0.0.0.0/0', '::/0'] }] },
  ],
});

async function allow(...domainNames: string[]): Promise<void> {
  const spec = rulesFor(...domainNames);
  if (policy !== undefined) return void (await patch(policy, { spec }));
  policy = {
    apiVersion: 'policy.networking.k8s.io/v1alpha2',
    kind: 'ClusterNetworkPolicy',
    metadata: { name: 'own-names' },
    spec,
  };
  await create(policy);
}

/** Until the agent of the client's node hears. */
const hears = () =>
  until('answers of DNS are heard', async () => {
    const { stdout } = await sluice('node1', 'status');
    return /rules by name; of the answers/.test(stdout) ? true : undefined;
  });

beforeAll(async () => {
  await command(CRDS, 'cnp');
  endNames = await serveNames();
  place = await site('names');
  web = await place.pod('web', { node: 'node2' });
  db = await place.pod('db', { node: 'node2' });
  for (const app of ['web', 'db']) {
    const ports = [{ port: PORT, targetPort: PORT }];
    const common = { selector: { name: app }, ipFamilyPolicy: 'PreferDualStack', ports };
    await place.service(`${app}-pods`, { ...common, clusterIP: 'None' });
    await place.service(app, common);
  }
  const options = ['timeout', 'attempts'].map(option => ({ name: option, value: '1' }));
  client = await place.pod('client', { node: 'node1', spec: { dnsConfig: { options } } });
  await expectReadyNames();
});

afterAll(async () => {
  if (policy !== undefined) await remove(policy);
  endNames?.();
});

/** CoreDNS serves Services a moment after they are there. */
async function expectReadyNames(): Promise<void> {
  for (const name of ['web-pods', 'db-pods'])
    expect(await settles(client, at(inCluster(name)), 'open', 'tcp', 30_000)).toBe('open');
}

// Without kube-proxy no Service leads anywhere here, that of DNS included.
const withDns = test.skipIf(proxy === 'none');

withDns(
  'a headless Service’s name opens its pods, at the first connection, and no other name’s',
  async () => {
    await allow(inCluster('web-pods'));
    await hears();
    expect(await connection(client, at(inCluster('web-pods')))).toBe('open');
    expect(await settles(client, at(inCluster('db-pods')), 'closed')).toBe('closed');
    // What was told under a name is open, by whatever way it is come by.
    for (const address of web.addresses)
      expect(await connection(client, address.includes(':') ? `[${address}]:${PORT}` : at(address))).toBe(
        'open',
      );
  },
);

withDns('a name is looked up by the search domains, and is the name that was found', async () => {
  await allow(inCluster('db-pods'));
  expect(await settles(client, at('db-pods'), 'open')).toBe('open');
  expect(await settles(client, at('web-pods'), 'closed')).toBe('closed');
});

withDns('a Service’s name that leads to its cluster IP opens nothing', async () => {
  await allow(inCluster('web'), inCluster('db-pods'));
  expect(await settles(client, at(inCluster('web')), 'closed')).toBe('closed');
  expect(await connection(client, at(inCluster('db-pods')))).toBe('open');
});

withDns('a wildcard is what is below it, in each family (NPEP-133)', async () => {
  await allow('*.names.test');
  for (const [i, address] of web.addresses.entries())
    expect(await settles(client, at(nameOf(address, `w${i}`)), 'open')).toBe('open');
  await allow('names.test', '*.x.names.test');
  expect(await settles(client, at(nameOf(web.address, 'w9')), 'closed')).toBe('closed');
  expect(await connection(client, at(nameOf(web.address, 'y.x')))).toBe('open');
});

withDns('an alias counts, and so does what it leads to in another zone', async () => {
  await allow('*.alias.test');
  expect(await settles(client, at(nameOf(web.address, 'a1', 'alias.test')), 'open')).toBe('open');
  expect(await settles(client, at(nameOf(db.address, 'a1')), 'closed')).toBe('closed');
  await allow('*.names.test');
  expect(await settles(client, at(nameOf(db.address, 'a2', 'alias.test')), 'open')).toBe('open');
});

withDns('fifty fresh names after one another are open at their first connection', async () => {
  await allow('*.names.test');
  await hears();
  expect(await settles(client, at(nameOf(web.address, 'f')), 'open')).toBe('open');
  for (let i = 0; i < 50; i++) {
    const pod = i % 2 === 0 ? web : db;
    expect(await connection(client, at(nameOf(pod.addresses[i % pod.addresses.length]!, `f${i}`)))).toBe(
      'open',
    );
  }
});

withDns('an agent that is deleted leaves DNS and what stands, and the next one hears', async () => {
  await allow('*.names.test');
  expect(await settles(client, at(nameOf(web.address, 'k')), 'open')).toBe('open');
  const before = (await agents()).get('node1')!;
  await tryKubectl('-n', 'sluice', 'delete', 'pod', before.name, '--force', '--grace-period=0');
  expect(await connection(client, at(nameOf(web.address, 'k1')))).toBe('open');
  await until('another agent is ready', async () => {
    const now = (await agents()).get('node1');
    return now?.ready && now.name !== before.name ? true : undefined;
  });
  await hears();
  expect(await connection(client, at(nameOf(db.address, 'k2')))).toBe('open');
});

withDns('a cache on the node itself is heard where the agent is told of it', async () => {
  const { status } = await ask('GET', '/api/v1/nodes/node1');
  const own = status.addresses.find(({ type }: { type: string }) => type === 'InternalIP').address as string;
  const metadata = { name: 'cache', namespace: place.namespace };
  const corefile = '.:53 {\n  forward . /etc/resolv.conf\n  cache 5\n}';
  await create({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { Corefile: corefile } });
  await place.pod('cache', { node: 'node1', spec: CACHE });
  const dnsConfig = { nameservers: [own], options: [{ name: 'attempts', value: '1' }] };
  const cached = await place.pod('cached', {
    node: 'node1',
    labels: { name: 'client' },
    spec: { dnsPolicy: 'None', dnsConfig },
  });
  cacheNetwork = [`${own}/${own.includes(':') ? 128 : 32}`];
  await allow('*.names.test');
  // Not the cluster's resolver as far as anybody was told: DNS goes on, and nothing is learnt.
  expect(await settles(cached, at(nameOf(web.address, 'c0')), 'closed')).toBe('closed');
  await withArgument(`--dns-servers=${own}`, async () => {
    await hears();
    expect(await settles(cached, at(nameOf(web.address, 'c1')), 'open')).toBe('open');
    expect(await connection(cached, at(nameOf(db.address, 'c2')))).toBe('open');
  });
});

/** CoreDNS on the node's network, which asks the cluster's. */
const CACHE = {
  hostNetwork: true,
  dnsPolicy: 'ClusterFirstWithHostNet',
  containers: [
    {
      name: 'coredns',
      image: 'registry.k8s.io/coredns/coredns:v1.14.7',
      args: ['-conf', '/etc/coredns/Corefile'],
      volumeMounts: [{ name: 'config', mountPath: '/etc/coredns' }],
    },
  ],
  volumes: [{ name: 'config', configMap: { name: 'cache' } }],
};

/** With one argument more on the command line of every agent, for as long as this takes. */
async function withArgument(argument: string, doing: () => Promise<void>): Promise<void> {
  const path = '/spec/template/spec/containers/0/args';
  const before = (await ask('GET', '/apis/apps/v1/namespaces/sluice/daemonsets/sluice')).spec.template.spec
    .containers[0].args as string[];
  const roll = async (value: readonly string[]) => {
    const change = JSON.stringify([{ op: 'replace', path, value }]);
    await kubectl('-n', 'sluice', 'patch', 'daemonset', 'sluice', '--type=json', '-p', change);
    await kubectl('-n', 'sluice', 'rollout', 'status', 'daemonset/sluice', '--timeout=120s');
  };
  await roll([...before, argument]);
  try {
    await doing();
  } finally {
    await roll(before);
  }
}
