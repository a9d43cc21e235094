/** The set computation of src/answers/reach says of every connection what `evaluate` says of it alone. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Connections } from '../../src/answers/reach/connections.ts';
import { type Reach, reachOf } from '../../src/answers/reach/reach.ts';
import { type Address, familyOf } from '../../src/model/address.ts';
import type { Cluster } from '../../src/model/cluster.ts';
import type { Flow } from '../../src/model/flow.ts';
import type { UnknownPods } from '../../src/model/podcidrs.ts';
import { tunnelEnds } from '../../src/model/tunnels.ts';
import { evaluator } from '../../src/semantics/evaluate.ts';
import { bridgedClusterArbitrary } from '../support/arbitrary/cluster.ts';
import { addressesOf, pointsOf } from '../support/oracle/bruteforce.ts';
import { connectionsBetween, includesFlow } from '../support/oracle/connectionsets.ts';
import { runs } from '../support/seed.ts';

const CLUSTERS = runs(9_000, 450);
/** Every point of every pair is asked in each cluster of this many; in the others the points take turns. */
const WHOLE = 100;

test('reachOf() equals evaluate() between all addresses, with what pods were told of them, where no port or protocol can tell more', () => {
  const tally = { clusters: 0, flows: 0, allowed: 0, unknownPods: 0 };
  const check = (cluster: Cluster, unknownPods: UnknownPods) => {
    const points = pointsOf(cluster);
    const some = tally.clusters++ % WHOLE === 0 ? points.length : 2;
    const judge = { evaluate: evaluator(cluster, unknownPods), reach: reachOf(cluster, { unknownPods }) };
    for (const { from, to, viaService } of pairsOf(cluster)) {
      const connections = connectionsBetween(judge.reach, from, to, viaService);
      tally.unknownPods += checkEnds(judge.reach, from, to, connections);
      for (let i = 0; i < some; i++) {
        const flow: Flow = { from, to, ...points[(tally.flows * 7 + i) % points.length]! };
        const verdict = judge.evaluate(viaService ? { ...flow, viaService } : flow).verdict;
        tally.flows++;
        if (verdict === 'allow') tally.allowed++;
        if (includesFlow(connections, flow) !== (verdict === 'allow'))
          throw new Error(
            `${JSON.stringify(flow)}: ${verdict}, and the set is ${JSON.stringify(connections)}`,
          );
      }
    }
  };
  fc.assert(fc.property(bridgedClusterArbitrary, fc.constantFrom('allow', 'deny'), check), {
    numRuns: CLUSTERS,
  });
  process.stdout.write(`    ${JSON.stringify(tally)}\n`);
  expect(tally.flows).toBeGreaterThan(500 * CLUSTERS);
  // A generator that has gone one-sided proves nothing.
  expect(tally.unknownPods).toBeGreaterThan(10 * CLUSTERS);
  expect(tally.allowed / tally.flows).toBeGreaterThan(0.2);
  expect(tally.allowed / tally.flows).toBeLessThan(0.8);
}, 1_800_000);

/**
 * What a matrix and a diff take for all addresses of two ends is what these two have, where neither is a node's, which is
 * exempt, and the one was not told the other's address. Answers how many are unknown pods, which are denied.
 */
function checkEnds(
  { families, clusterIndex }: Reach,
  from: Address,
  to: Address,
  expected: Connections,
): number {
  if (from === to || clusterIndex.nodes.has(from) || clusterIndex.nodes.has(to)) return 0;
  if (mayResolve(clusterIndex, from, to)) return 0;
  const family = families[familyOf(from)];
  const [source, destination] = [family.ends.at(from), family.ends.at(to)];
  expect(family.connections(source, destination).id, `${from} -> ${to}`).toBe(expected.id);
  return [source, destination].filter(end => family.ends.all[end]!.isUnknownPod).length;
}

function mayResolve({ cluster, owners, names }: Reach['clusterIndex'], from: Address, to: Address): boolean {
  const pod = owners.get(from);
  const patterns = names.flatMap(each => each.patterns);
  return pod !== undefined && patterns.some(pattern => cluster.resolved?.has(pod.key, to, pattern));
}

function pairsOf(cluster: Cluster) {
  const addresses = [
    ...new Set([...addressesOf(cluster), ...[...cluster.nodes.values()].flatMap(tunnelEnds)]),
  ];
  return addresses.flatMap(from =>
    addresses.flatMap(to => {
      if (familyOf(from) !== familyOf(to)) return [];
      return (from === to ? [false, true] : [false]).map(viaService => ({ from, to, viaService }));
    }),
  );
}
