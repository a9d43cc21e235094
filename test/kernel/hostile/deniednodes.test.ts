/**
 * A denial of the own node of a pod holds for whatever the kernel delivers to it, also at addresses that no object has
 * and no agent has read yet (C59).
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildLab, type Lab } from '../../../bench/lab/lab.ts';
import { probe } from '../../../bench/lab/probe/probe.ts';
import { address, topologyOf } from '../../../bench/lab/topology.ts';
import { decodeObject } from '../../../src/inputs/kube/decode/decode.ts';
import { ClusterState } from '../../../src/model/cluster.ts';
import type { Kernel } from '../../../src/nft/kernel.ts';
import { enforce, openKernels } from '../../support/agent/enforce.ts';
import { forgetAll } from '../../support/packets/tried.ts';

/** Of each family: in its status, that of a bridge, one that nobody told of, and one of another node. */
const TARGETS = ['172.18.0.1', '10.1.0.1', '192.0.2.53', 'fd18::1', 'fd01::1', 'fd99::53'] as const;
const ELSEWHERE = ['172.18.0.2', 'fd18::2'] as const;
const POD = { ip: address('10.1.0.10'), ip6: address('fd01::10') };

const internal = (ip: string) => ({ type: 'InternalIP', address: ip });
const node = (name: string, n: number, podCIDRs: string[]) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { name } },
  spec: { podCIDRs },
  status: { addresses: [internal(`172.18.0.${n}`), internal(`fd18::${n}`)] },
});
const OBJECTS = [
  node('n1', 1, ['10.1.0.0/24', 'fd01::/64']),
  node('n2', 2, ['10.2.0.0/24', 'fd02::/64']),
  { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'x' } },
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'a', namespace: 'x' },
    spec: { nodeName: 'n1', containers: [] },
    status: { podIPs: [{ ip: POD.ip }, { ip: POD.ip6 }] },
  },
];

function clusterWith(...to: object[]): ClusterState {
  const cluster = new ClusterState();
  const policy = {
    apiVersion: 'policy.networking.k8s.io/v1alpha2',
    kind: 'ClusterNetworkPolicy',
    metadata: { name: 'denied' },
    spec: { tier: 'Admin', priority: 1, subject: { namespaces: {} }, egress: [{ action: 'Deny', to }] },
  };
  for (const object of [...OBJECTS, ...(to.length === 0 ? [] : [policy])]) {
    const { event, problems } = decodeObject(object);
    expect(problems).toEqual([]);
    cluster.apply(event!);
  }
  return cluster;
}

let lab: Lab;
let kernels: ReadonlyMap<string, Kernel>;

beforeAll(async () => {
  const topology = topologyOf(clusterWith(), TARGETS.map(address));
  const nodes = topology.nodes.map(host =>
    host.name === 'n1' ? { ...host, addresses: [...host.addresses, ...topology.outside] } : host,
  );
  lab = await buildLab({ ...topology, nodes, outside: [] });
  kernels = await openKernels(lab);
});

afterAll(() => {
  for (const kernel of kernels?.values() ?? []) kernel.close();
  lab?.remove();
});

/** The addresses that the pod reaches. */
async function reached(...to: object[]): Promise<string[]> {
  await enforce(lab, kernels, clusterWith(...to));
  forgetAll(lab);
  const targets = [...TARGETS, ...ELSEWHERE].map(address);
  const outcomes = await probe(
    lab,
    targets.map(to => ({
      from: to.includes(':') ? POD.ip6 : POD.ip,
      to,
      protocol: 'TCP' as const,
      port: 10250,
    })),
    { quietMs: 300 },
  );
  return targets.filter((_, i) => outcomes[i] === 'open');
}

const ipv6 = TARGETS.filter(target => target.includes(':'));

test.each([
  ['nothing', [], [...TARGETS, ...ELSEWHERE]],
  ['all nodes', [{ nodes: {} }], []],
  ['its own node by a label', [{ nodes: { matchLabels: { name: 'n1' } } }], [...ELSEWHERE]],
  ['another node by a label', [{ nodes: { matchLabels: { name: 'n2' } } }], [...TARGETS]],
  ['a network with its InternalIP', [{ networks: ['172.18.0.1/32'] }], [...ipv6, ...ELSEWHERE]],
  ['an address of it that is no InternalIP', [{ networks: ['192.0.2.53/32'] }], undefined],
])('a pod reaches its own node where policy denies %s', async (_, to, open) => {
  const rest = [...TARGETS, ...ELSEWHERE].filter(target => target !== '192.0.2.53');
  expect((await reached(...to)).sort()).toEqual([...(open ?? rest)].sort());
});
