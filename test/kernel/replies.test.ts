/** What belongs to an allowed connection passes, whatever policy says of the other direction (N38, N39). */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildLab, type Lab } from '../../bench/lab/lab.ts';
import {
  AF_INET,
  AF_INET6,
  bind,
  close,
  connect,
  POLLIN,
  poll,
  SOCK_DGRAM,
  send,
  socket,
  socketError,
} from '../../bench/lab/libc.ts';
import { inNamespace } from '../../bench/lab/netns.ts';
import type { Probe } from '../../bench/lab/probe/attempt.ts';
import { probe } from '../../bench/lab/probe/probe.ts';
import { socketAddress } from '../../bench/lab/probe/sockaddr.ts';
import { address, topologyOf } from '../../bench/lab/topology.ts';
import { decodeObject } from '../../src/inputs/kube/decode/decode.ts';
import { type Address, familyOf } from '../../src/model/address.ts';
import { ClusterState } from '../../src/model/cluster.ts';
import type { Kernel } from '../../src/nft/kernel.ts';
import { enforce, openKernels } from '../support/agent/enforce.ts';

const pod = (name: string, node: string, ...ips: string[]) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'x', labels: { app: name } },
  spec: { nodeName: node, containers: [{ name: 'c' }] },
  status: { phase: 'Running', podIP: ips[0], podIPs: ips.map(ip => ({ ip })) },
});

const node = (name: string) => ({ apiVersion: 'v1', kind: 'Node', metadata: { name } });

// `caller` may speak to anybody over UDP and TCP, and nobody may speak to it.
const policy = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name: 'caller', namespace: 'x' },
  spec: {
    podSelector: { matchLabels: { app: 'caller' } },
    policyTypes: ['Ingress', 'Egress'],
    egress: [{ ports: [{ protocol: 'UDP' }, { protocol: 'TCP' }] }],
  },
};

const ENDS = [
  { from: address('10.0.1.1'), to: address('10.0.2.1') },
  { from: address('fd00:1::1'), to: address('fd00:2::1') },
];

let lab: Lab;
let kernels: ReadonlyMap<string, Kernel>;

beforeAll(async () => {
  const cluster = new ClusterState();
  const pods = [pod('caller', 'one', '10.0.1.1', 'fd00:1::1'), pod('callee', 'two', '10.0.2.1', 'fd00:2::1')];
  for (const object of [node('one'), node('two'), ...pods, policy])
    cluster.apply(decodeObject(object).event!);
  lab = await buildLab(topologyOf(cluster));
  kernels = await openKernels(lab);
  await enforce(lab, kernels, cluster);
});

afterAll(() => {
  for (const kernel of kernels?.values() ?? []) kernel.close();
  lab?.remove();
});

test('answers reach a pod that is closed to everybody (N38)', async () => {
  const calls: Probe[] = ENDS.flatMap(ends =>
    (['TCP', 'UDP'] as const).map(protocol => ({ ...ends, protocol, port: 80 })),
  );
  expect(await probe(lab, calls)).toEqual(['open', 'open', 'open', 'open']);
});

test('the same packets do not reach it when they are no answers (N38)', async () => {
  const calls: Probe[] = ENDS.flatMap(({ from, to }) => [
    { from: to, to: from, protocol: 'UDP', port: 80 },
    { from: to, to: from, protocol: 'TCP', port: 80 },
    { from: to, to: from, protocol: 'ICMP' },
  ]);
  expect(new Set(await probe(lab, calls))).toEqual(new Set(['closed']));
});

test.each(ENDS)(
  'an ICMP error that belongs to a connection reaches it: $to answers "port unreachable" (N39)',
  async ends => {
    expect(await errorOf(ends.from, ends.to)).toBe('ECONNREFUSED');
  },
);

/** What a UDP socket hears after a datagram to a port where nobody listens. */
async function errorOf(from: Address, to: Address): Promise<string | undefined> {
  const domain = familyOf(from) === 'ip' ? AF_INET : AF_INET6;
  const fd = inNamespace(lab.namespaceOf(from), () => socket(domain, SOCK_DGRAM));
  try {
    bind(fd, socketAddress(from));
    connect(fd, socketAddress(to, 9));
    send(fd, Buffer.from('anybody?'));
    const pollfd = Buffer.alloc(8);
    pollfd.writeInt32LE(fd, 0);
    pollfd.writeInt16LE(POLLIN, 4);
    await poll(pollfd, 1000);
    return socketError(fd);
  } finally {
    close(fd);
  }
}
