import { expect, test } from 'vitest';
import { address } from '../../../../bench/lab/topology.ts';
import { recorded } from '../../../../test/support/recorded.ts';
import { ClusterState, type Node, type Pod } from '../../../model/cluster.ts';
import type { Flow } from '../../../model/flow.ts';
import { endNamer } from '../endname.ts';
import type { RecordedEnd, RecordedFlow } from '../recording.ts';
import { suggestPolicies } from './suggest.ts';

/** A node that sends from the first address of its pod network, and one of IPv6 alone. */
function tunnelNode(name: string, internalIps: readonly string[], tunnel: readonly string[]): Node {
  const ips = internalIps.map(address);
  return {
    name,
    labels: {},
    addresses: ips,
    podCidrs: tunnel.map(base => `${base}/${base.includes(':') ? 112 : 24}`),
    tunnelAddresses: tunnel.map(address),
  };
}

const web: Pod = {
  key: 'shop/web',
  namespace: 'shop',
  name: 'web',
  node: 'n1',
  labels: { app: 'web' },
  addresses: [address('10.244.1.5'), address('fd24::1:5')],
  hostNetwork: false,
  finished: false,
  createdAt: '',
  ports: [],
};

function clusterWith(...nodes: readonly Node[]): ClusterState {
  const cluster = new ClusterState();
  for (const node of nodes) cluster.apply({ type: 'node', key: node.name, value: node });
  cluster.apply({ type: 'pod', key: web.key, value: web });
  return cluster;
}

const flow = (from: string, to = '10.244.1.5'): Flow => ({
  from: address(from),
  to: address(to),
  protocol: 'TCP',
  port: 8443,
});

const n1 = tunnelNode('n1', ['172.18.0.1'], ['10.244.1.0']);
const n2 = tunnelNode('n2', ['172.18.0.2'], ['10.244.2.0', 'fd24::2:0']);

const db: Pod = {
  ...web,
  key: 'shop/db-0',
  name: 'db-0',
  node: 'n2',
  labels: { app: 'db', 'statefulset.kubernetes.io/pod-name': 'db-0', 'apps.kubernetes.io/pod-index': '0' },
  addresses: [address('10.244.2.7')],
};

const backup: Pod = {
  ...web,
  key: 'shop/backup-29-x',
  name: 'backup-29-x',
  labels: { 'job-name': 'backup-29', 'batch.kubernetes.io/job-name': 'backup-29', 'controller-uid': 'u' },
  addresses: [address('10.244.1.9')],
};

const coredns: Pod = {
  ...web,
  key: 'kube-system/coredns',
  namespace: 'kube-system',
  name: 'coredns',
  labels: { 'k8s-app': 'kube-dns', 'app.kubernetes.io/instance': 'coredns' },
  addresses: [address('10.244.1.53')],
};

const OUTSIDE = '93.184.216.34';

interface Written {
  readonly metadata: { readonly name: string; readonly annotations: object };
  readonly spec: { readonly podSelector: unknown; readonly ingress?: unknown[]; readonly egress?: unknown[] };
}

/** As n1 alone recorded it, where it is not said otherwise. */
function suggestion(flows: readonly Partial<RecordedFlow>[]) {
  const cluster = clusterWith(n1, n2);
  for (const value of [db, backup, coredns]) cluster.apply({ type: 'pod', key: value.key, value });
  const base = recorded(cluster, 'allow', [flow('10.244.1.5', OUTSIDE), flow('10.244.1.5', '172.18.0.2')]);
  const whole = flows.map(each => ({ ...base.flows[0]!, ingress: 0, ...each }));
  const { objects, ...rest } = suggestPolicies({ ...base, flows: whole }, 'shop');
  const byName = new Map((objects as Written[]).map(each => [each.metadata.name, each]));
  return { ...rest, byName };
}

const end = (pod: Pod): RecordedEnd => ({ address: pod.addresses[0]!, pod });
const toDb = { from: end(web), to: end(db), port: 5432 };

test('both ends of a connection get their rule, whichever node recorded it', () => {
  const rule = { ports: [{ protocol: 'TCP', port: 5432 }] };
  for (const counts of [
    { egress: 1, ingress: 0 },
    { egress: 0, ingress: 1 },
  ]) {
    const { byName } = suggestion([{ ...toDb, ...counts }]);
    const [client, server] = [byName.get('allow-web')!, byName.get('allow-db')!];
    expect([client.spec.egress, client.spec.ingress]).toEqual([
      [{ to: [{ podSelector: { matchLabels: { app: 'db' } } }], ...rule }],
      undefined,
    ]);
    expect([server.spec.podSelector, server.spec.ingress]).toEqual([
      { matchLabels: { app: 'db' } },
      [{ from: [{ podSelector: { matchLabels: { app: 'web' } } }], ...rule }],
    ]);
  }
});

test('an end whose node denied such a connection, and saw none pass, gets no rule', () => {
  const { byName } = suggestion([toDb, { ...toDb, was: 'deny', egress: 0, ingress: 3 }]);
  expect([byName.get('allow-db'), byName.get('allow-web')!.spec.egress]).toEqual([
    undefined,
    [expect.anything()],
  ]);
});

test('the pod of a CronJob without labels of its own is said, and is nobody in a rule', () => {
  const { byName, unselectable } = suggestion([{ ...toDb, from: end(backup) }]);
  expect([[...byName.keys()], unselectable]).toEqual([['suggested-default-deny'], [backup]]);
});

test('DNS is asked over UDP and TCP, of the pods of kube-dns in kube-system alone', () => {
  const { byName } = suggestion([
    { from: end(web), to: end(coredns), port: 53, protocol: 'UDP' },
    { from: end(web), to: end(db), port: 53, protocol: 'UDP' },
  ]);
  expect(byName.get('allow-web')!.spec.egress).toEqual([
    {
      to: [
        {
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } },
          podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } },
        },
      ],
      ports: [
        { protocol: 'TCP', port: 53 },
        { protocol: 'UDP', port: 53 },
      ],
    },
    { to: [{ podSelector: { matchLabels: { app: 'db' } } }], ports: [{ protocol: 'UDP', port: 53 }] },
  ]);
});

test('a name that DNS told, or a node, is a remark beside its address, and nothing else is', () => {
  const outside = { address: address(OUTSIDE) };
  const { remarks } = suggestion([
    { to: outside, names: ['api.example.com', '*.example.com\nkind: Secret'] },
    { to: outside, port: 80, names: ['a.example.com'] },
    { to: { address: address('172.18.0.2') } },
    { to: { address: address('203.0.113.7') } },
  ]);
  expect([...remarks]).toEqual([
    [`${OUTSIDE}/32`, 'a.example.com, api.example.com'],
    ['172.18.0.2/32', 'node n2'],
  ]);
});

test('what is suggested is in force also where a policy of its name was audited', () => {
  for (const { metadata } of suggestion([toDb]).byName.values())
    expect(metadata.annotations).toEqual({ 'sluice.dev/enforcement': 'enforce' });
});

function suggested(cluster: ClusterState, ...flows: readonly Flow[]): unknown[] {
  const policies = suggestPolicies(recorded(cluster, 'allow', flows), 'shop').objects as {
    spec: { ingress?: { from: unknown[] }[] };
  }[];
  return policies.flatMap(({ spec }) => (spec.ingress ?? []).flatMap(({ from }) => from));
}

test('a node that sends from its tunnel is suggested by its own address, which means the tunnel too (N75)', () => {
  const cluster = clusterWith(n1, n2);
  expect(suggested(cluster, flow('10.244.2.0'))).toEqual([{ ipBlock: { cidr: '172.18.0.2/32' } }]);
  // It has no InternalIP of IPv6, and so no network means its tunnel of that family.
  expect(suggested(cluster, flow('fd24::2:0', 'fd24::1:5'))).toEqual([
    { ipBlock: { cidr: 'fd24::2:0/128' } },
  ]);
  expect(suggested(cluster, flow('10.244.1.0'))).toEqual([]); // N43: its own node
});

test('an address that two nodes claim is that of neither, also in a recording', () => {
  const rival = { ...tunnelNode('n3', ['172.18.0.3'], ['10.244.2.0']) };
  expect(suggested(clusterWith(n1, n2, rival), flow('10.244.2.0'))).toEqual([
    { ipBlock: { cidr: '10.244.2.0/32' } },
  ]);
});

test('a recorded end that is the tunnel of a node has the name of the node', () => {
  const recording = recorded(clusterWith(n1, n2), 'allow', [flow('10.244.2.0'), flow('10.244.2.9')]);
  expect(recording.flows.map(({ from }) => endNamer(recording)(from))).toEqual(['node/n2', '10.244.2.9']);
});
