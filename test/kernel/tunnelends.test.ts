/** N72: no pod reaches a tunnel's end at what a node's interfaces have beside its own addresses: packets, reference and sets agree. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { buildLab, type Lab } from '../../bench/lab/lab.ts';
import { address, topologyOf } from '../../bench/lab/topology.ts';
import { reachOf } from '../../src/answers/reach/reach.ts';
import { decodeObject } from '../../src/inputs/kube/decode/decode.ts';
import { ClusterState } from '../../src/model/cluster.ts';
import type { Flow } from '../../src/model/flow.ts';
import type { Kernel } from '../../src/nft/kernel.ts';
import { evaluator } from '../../src/semantics/evaluate.ts';
import { enforce, openKernels } from '../support/agent/enforce.ts';
import { connectionsBetween, includesFlow } from '../support/oracle/connectionsets.ts';
import { tried } from '../support/packets/tried.ts';

const [PODS, NODES, BRIDGES] = [
  ['10.0.1.2', '10.0.2.2'],
  ['172.18.0.11', '172.18.0.12'],
  ['10.0.1.1', '10.0.2.1'],
].map(texts => texts.map(address)) as [Flow['to'][], Flow['to'][], Flow['to'][]];

let lab: Lab;
let kernels: ReadonlyMap<string, Kernel>;

/** `bridges`: to the laboratory all addresses of a node are alike. */
function clusterWith(bridges: 'beside' | 'listed'): ClusterState {
  const cluster = new ClusterState();
  for (const [i, pod] of PODS.entries()) {
    const [name, own, beside] = [`n${i + 1}`, [NODES[i]!], [BRIDGES[i]!]];
    const addresses = bridges === 'listed' ? [...own, ...beside] : own;
    const node = {
      name,
      labels: {},
      addresses,
      podCidrs: [`10.0.${i + 1}.0/24`],
      interfaceAddresses: beside,
    };
    cluster.apply({ type: 'node', key: name, value: node });
    const rest = { labels: {}, hostNetwork: false, finished: false, createdAt: '', ports: [] };
    const value = {
      key: `a/p${i}`,
      namespace: 'a',
      name: `p${i}`,
      node: name,
      addresses: [pod],
      ...rest,
    } as const;
    cluster.apply({ type: 'pod', key: value.key, value });
  }
  return cluster;
}

beforeAll(async () => {
  lab = await buildLab(topologyOf(clusterWith('listed')));
  kernels = await openKernels(lab);
  await enforce(lab, kernels, clusterWith('beside'));
});

afterAll(() => {
  for (const kernel of kernels?.values() ?? []) kernel.close();
  lab?.remove();
});

test('pods reach no tunnel at what nodes list, nor at what their interfaces have beside', async () => {
  const cluster = clusterWith('beside');
  const [evaluate, reach] = [evaluator(cluster), reachOf(cluster, { unknownPods: 'allow' })];
  const flows = PODS.flatMap(from =>
    [...NODES, ...BRIDGES].flatMap((to): Flow[] => [
      { from, to, protocol: 'UDP', port: 8472 },
      { from, to, protocol: 'UDP', port: 8473 },
    ]),
  );
  const expected = flows.map(flow => evaluate(flow).verdict === 'allow');
  expect(flows.map(flow => includesFlow(connectionsBetween(reach, flow.from, flow.to), flow))).toEqual(
    expected,
  );
  expect(await tried(lab, flows, expected)).toEqual(expected);
  expect(expected).toEqual(flows.map(flow => flow.port === 8473));
});

/** The rule of docs/flannel.md for a port of Flannel's back end `udp` that no interface tells. */
function ruleOfPage() {
  const page = readFileSync(new URL('../../docs/flannel.md', import.meta.url), 'utf8');
  const [egress] = /^ {4}egress:\n {6}- \{action: Deny, to: \[\{nodes.*$/m.exec(page) ?? [''];
  const spec = { tier: 'Admin', priority: 0, subject: { namespaces: {} }, ...parse(egress) };
  const apiVersion = 'policy.networking.k8s.io/v1alpha2';
  return { apiVersion, kind: 'ClusterNetworkPolicy', metadata: { name: 'tunnel' }, spec };
}

test('nor one at a port that nothing on the node tells, once the rule of the page about Flannel denies it', async () => {
  const flows = PODS.flatMap(from =>
    [...NODES, ...BRIDGES].flatMap((to): Flow[] =>
      [9999, 9998].map(port => ({ from, to, protocol: 'UDP', port })),
    ),
  );
  const all = flows.map(() => true);
  expect(await tried(lab, flows, all)).toEqual(all);
  const cluster = clusterWith('beside');
  cluster.apply({ type: 'namespace', key: 'a', value: { name: 'a', labels: {} } });
  cluster.apply(decodeObject(ruleOfPage()).event!);
  await enforce(lab, kernels, cluster);
  const expected = flows.map(({ port }) => port === 9998);
  expect(flows.map(flow => evaluator(cluster)(flow).verdict === 'allow')).toEqual(expected);
  expect(await tried(lab, flows, expected)).toEqual(expected);
});
