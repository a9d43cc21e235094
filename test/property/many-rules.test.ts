/** Known mistake of the field: precedence kept as a number per rule, which 70,000 rules overflow. */
import { expect, test } from 'vitest';
import { compile } from '../../src/compiler/compile.ts';
import { decodeObject } from '../../src/inputs/kube/decode/decode.ts';
import { ClusterState } from '../../src/model/cluster.ts';
import { packet } from '../../src/nft/trace/packet.ts';
import { trace } from '../../src/nft/trace/trace.ts';
import { evaluate } from '../../src/semantics/evaluate.ts';
import { parseFlow } from '../../src/semantics/flowtext.ts';

const POLICIES = 2_800;
const RULES = 25;

test('the first of 70,000 rules still comes before the last', () => {
  const cluster = clusterOf([
    policy(0, [rule('Deny', '192.0.2.1/32'), rule('Accept', '192.0.2.2/32')]),
    ...Array.from({ length: POLICIES }, (_, at) => policy(1 + (at % 999), fillers(at))),
    policy(1000, [
      rule('Accept', '192.0.2.1/32'),
      rule('Deny', '192.0.2.2/32'),
      rule('Deny', '192.0.2.3/32'),
    ]),
  ]);
  const judge = judges(cluster);
  expect(judge('192.0.2.1')).toEqual(['deny', 'drop']);
  expect(judge('192.0.2.2')).toEqual(['allow', 'accept']);
  expect(judge('192.0.2.3')).toEqual(['deny', 'drop']);
  expect(judge('10.0.0.2')).toEqual(['deny', 'drop']);
  expect(judge('10.0.0.3')).toEqual(['allow', 'accept']);
  expect(judge('10.1.17.110')).toEqual(['deny', 'drop']);
});

/** What the reference and the rules in the kernel say about a connection to an address. */
function judges(cluster: ClusterState): (address: string) => string[] {
  const ruleset = compile(cluster, 'node1');
  return address => {
    const flow = parseFlow(cluster, `shop/web -> ${address}:443`);
    const traced = trace(ruleset, 'ip', 'forward', packet(flow), 'new');
    return [evaluate(cluster, flow).verdict, traced.verdict];
  };
}

function fillers(policyAt: number): object[] {
  return Array.from({ length: RULES }, (_, at) => {
    const number = policyAt * RULES + at;
    return rule(
      number % 2 === 0 ? 'Deny' : 'Accept',
      `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}/32`,
    );
  });
}

function rule(action: string, network: string): object {
  return { action, to: [{ networks: [network] }] };
}

let policies = 0;

function policy(priority: number, egress: readonly object[]): object {
  return {
    apiVersion: 'policy.networking.k8s.io/v1beta1',
    kind: 'ClusterNetworkPolicy',
    metadata: { name: `policy-${policies++}` },
    spec: { tier: 'Admin', priority, subject: { namespaces: {} }, egress },
  };
}

const WEB = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'shop' },
  spec: { nodeName: 'node1', containers: [{ name: 'web' }] },
  status: { phase: 'Running', podIP: '10.244.1.10', podIPs: [{ ip: '10.244.1.10' }] },
};

function clusterOf(objects: readonly object[]): ClusterState {
  const cluster = new ClusterState();
  for (const object of [WEB, ...objects]) {
    const { event, problems } = decodeObject(object);
    expect(problems).toEqual([]);
    cluster.apply(event!);
  }
  return cluster;
}
