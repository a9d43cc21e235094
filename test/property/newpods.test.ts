/** What `sluice matrix` lists of pods that are not there yet is what `evaluate` says once they are there. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { matrixObject, rowsOf } from '../../src/answers/reach/rows.ts';
import { matrixViewOf } from '../../src/answers/reach/view.ts';
import { addressFromInt, familyOf } from '../../src/model/address.ts';
import { addressOwners } from '../../src/model/addressowners.ts';
import {
  type Cluster,
  NAMESPACE_NAME_LABEL,
  type Namespace,
  type Pod,
  type PodKey,
} from '../../src/model/cluster.ts';
import type { Flow } from '../../src/model/flow.ts';
import { NO_INVENTORY } from '../../src/model/inventory.ts';
import type { Policy } from '../../src/model/policy.ts';
import { evaluator } from '../../src/semantics/evaluate.ts';
import { unresolvedClusterArbitrary } from '../support/arbitrary/cluster.ts';
import { pointsOf } from '../support/oracle/bruteforce.ts';
import { allowedByExposures, type PrintedExposure } from '../support/oracle/printedexposures.ts';
import { runs } from '../support/seed.ts';

const CLUSTERS = runs(500);
const POINTS = 4;

/** Ports of new pods by the names that rules mean, with numbers that none means. */
const NAMED = { web: 30_001, dns: 30_002 };

const labelArbitrary = (...values: string[]) => fc.constantFrom(undefined, ...values, 'other');
const newPodArbitrary = fc.record({
  namespace: fc.constantFrom('a', 'b', 'c', 'new'),
  team: labelArbitrary('red', 'blue'),
  app: labelArbitrary('web', 'db'),
  tier: labelArbitrary('x', 'y'),
});

type NewPod = typeof newPodArbitrary extends fc.Arbitrary<infer T> ? T : never;

test('the list of pods that are not there yet is what evaluate says of each new pod', () => {
  const tally = { asked: 0, allowed: 0, named: 0, lines: 0 };
  const check = (cluster: Cluster, pods: readonly NewPod[], unknownPods: 'allow' | 'deny') => {
    const bare = withoutNetworks(cluster);
    const view = matrixViewOf({ cluster: bare, inventory: NO_INVENTORY }, unknownPods);
    const { exposures } = JSON.parse(
      JSON.stringify(
        matrixObject(
          view,
          rowsOf(view, () => true),
          [],
        ),
      ),
    ) as {
      exposures: PrintedExposure[];
    };
    tally.lines += exposures.length;
    for (const made of pods) {
      const namespace = namespaceOf(bare, made);
      if (namespace === undefined) continue;
      const pod = podOf(made);
      const after = withPod(bare, pod, namespace);
      const evaluate = evaluator(after, unknownPods);
      for (const { flow, direction, workload, portName } of questions(bare, pod, tally)) {
        const { verdict } = evaluate(flow);
        tally.asked++;
        if (verdict === 'allow') tally.allowed++;
        if (portName !== undefined) tally.named++;
        const listed = allowedByExposures(
          exposures,
          bare,
          direction,
          workload,
          pod,
          namespace,
          flow,
          portName,
        );
        expect(listed, JSON.stringify({ flow, direction, workload, made, portName })).toBe(
          verdict === 'allow',
        );
      }
    }
  };
  fc.assert(
    fc.property(
      unresolvedClusterArbitrary,
      fc.array(newPodArbitrary, { minLength: 3, maxLength: 3 }),
      fc.constantFrom('allow', 'deny'),
      check,
    ),
    { numRuns: CLUSTERS, endOnFailure: true },
  );
  process.stdout.write(`    ${JSON.stringify(tally)}\n`);
  expect(tally.named).toBeGreaterThan(tally.asked / 10);
  expect(tally.allowed / tally.asked).toBeGreaterThan(0.2);
  expect(tally.allowed / tally.asked).toBeLessThan(0.8);
}, 900_000);

/** Which address it will have decides which networks mean it, and whether tunnels lead there: so here none does. */
function withoutNetworks(cluster: Cluster): Cluster {
  const policies = [...cluster.policies].map(([key, policy]) => [key, policyWithout(policy)] as const);
  const nodes = [...cluster.nodes].map(([name, { links: _, ...node }]) => [name, node] as const);
  return { ...cluster, policies: new Map(policies), nodes: new Map(nodes) };
}

function policyWithout(policy: Policy): Policy {
  const rules = (direction: 'ingress' | 'egress') =>
    policy[direction]?.map(rule => ({
      ...rule,
      peers: rule.peers === 'any' ? rule.peers : rule.peers.filter(({ kind }) => kind !== 'network'),
    }));
  const [ingress, egress] = [rules('ingress'), rules('egress')];
  return { ...policy, ...(ingress && { ingress }), ...(egress && { egress }) };
}

/** Undefined for one that is not known, though policies and pods are in it. */
function namespaceOf({ namespaces }: Cluster, { namespace: name, team }: NewPod): Namespace | undefined {
  if (name !== 'new') return namespaces.get(name);
  return { name, labels: { ...(team && { team }), [NAMESPACE_NAME_LABEL]: name } };
}

function podOf({ namespace, app, tier }: NewPod): Pod {
  const key: PodKey = `${namespace}/new`;
  const rest = { node: 'n3', hostNetwork: false, finished: false, createdAt: '' };
  const addresses = [addressFromInt('ip', 0xa090909n), addressFromInt('ip6', 0xfd09n << 112n)];
  const labels = { ...(app && { app }), ...(tier && { tier }) };
  const ports = Object.entries(NAMED).flatMap(([name, port]) =>
    (['TCP', 'UDP', 'SCTP'] as const).map(protocol => ({ name, protocol, port })),
  );
  return { key, namespace, name: 'new', labels, addresses, ports, ...rest };
}

function withPod(cluster: Cluster, pod: Pod, namespace: Namespace): Cluster {
  return {
    ...cluster,
    pods: new Map(cluster.pods).set(pod.key, pod),
    namespaces: new Map(cluster.namespaces).set(namespace.name, namespace),
  };
}

function* questions(cluster: Cluster, pod: Pod, tally: { asked: number }) {
  const points = pointsOf(cluster);
  for (const [address, owner] of addressOwners(cluster)) {
    const own = pod.addresses.find(each => familyOf(each) === familyOf(address))!;
    const workload = `Pod ${owner.key}`;
    for (let i = 0; i < POINTS; i++) {
      const point = points[(tally.asked * 7 + i) % points.length]!;
      yield {
        flow: { from: own, to: address, ...point } as Flow,
        direction: 'ingress' as const,
        workload,
        portName: undefined,
      };
      yield {
        flow: { from: address, to: own, ...point } as Flow,
        direction: 'egress' as const,
        workload,
        portName: undefined,
      };
    }
    const [portName, port] = Object.entries(NAMED)[tally.asked % 2]!;
    const protocol = (['TCP', 'UDP', 'SCTP'] as const)[tally.asked % 3]!;
    yield {
      flow: { from: address, to: own, protocol, port } as Flow,
      direction: 'egress' as const,
      workload,
      portName,
    };
  }
}
