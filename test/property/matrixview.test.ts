/** What `sluice matrix -o json` prints is what `evaluate` says: by whoever has only the names that it prints. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { matrixObject, rowsOf } from '../../src/answers/reach/rows.ts';
import { matrixViewOf } from '../../src/answers/reach/view.ts';
import { type Address, cidrContains, familyOf } from '../../src/model/address.ts';
import { addressOwners } from '../../src/model/addressowners.ts';
import type { Cluster } from '../../src/model/cluster.ts';
import type { Flow } from '../../src/model/flow.ts';
import { NO_INVENTORY } from '../../src/model/inventory.ts';
import { podCidrsOf, type UnknownPods } from '../../src/model/podcidrs.ts';
import { evaluator } from '../../src/semantics/evaluate.ts';
import { knownClusterArbitrary } from '../support/arbitrary/cluster.ts';
import { addressesOf, isByLink, nodeAt, pointsOf } from '../support/oracle/bruteforce.ts';
import { allowedByMatrix, type PrintedMatrix } from '../support/oracle/printedmatrix.ts';
import { runs } from '../support/seed.ts';

const CLUSTERS = runs(150);
const POINTS = 3;

test('matrix -o json has each connection that evaluate allows, and no other', () => {
  const tally = { asked: 0, allowed: 0 };
  fc.assert(
    fc.property(knownClusterArbitrary, fc.constantFrom('allow', 'deny'), (cluster, unknownPods) => {
      const view = matrixViewOf({ cluster, inventory: NO_INVENTORY }, unknownPods);
      const rows = rowsOf(view, () => true);
      const printed = JSON.parse(JSON.stringify(matrixObject(view, rows, []))) as PrintedMatrix;
      const evaluate = evaluator(cluster, unknownPods);
      const points = pointsOf(cluster);
      const flows = pairsOf(cluster, unknownPods).flatMap(([from, to]) =>
        Array.from({ length: POINTS }, (_, i): Flow => {
          return { from, to, ...points[(tally.asked++ * 7 + i) % points.length]! };
        }).filter(flow => !isByLink(cluster, flow)),
      );
      const listed = allowedByMatrix(printed, cluster, flows);
      for (const [i, flow] of flows.entries()) {
        const { verdict } = evaluate(flow);
        if (verdict === 'allow') tally.allowed++;
        expect(listed[i], JSON.stringify(flow)).toBe(verdict === 'allow');
      }
    }),
    { numRuns: CLUSTERS, endOnFailure: true },
  );
  process.stdout.write(`    ${JSON.stringify(tally)}\n`);
  expect(tally.allowed / tally.asked).toBeGreaterThan(0.2);
  expect(tally.allowed / tally.asked).toBeLessThan(0.8);
}, 900_000);

/**
 * One of them is a pod; left out is what stands below each matrix: a pod and itself, a node and its own pods; and where
 * nobody of a pod network may be unknown, addresses there that nobody has.
 */
function pairsOf(cluster: Cluster, unknownPods: UnknownPods): [Address, Address][] {
  const owners = addressOwners(cluster);
  const nodeOf = (address: Address) => nodeAt(cluster, address)?.name;
  const podCidrs = [...cluster.nodes.values()].flatMap(podCidrsOf);
  const isUnknown = (address: Address) =>
    unknownPods === 'deny' &&
    !owners.has(address) &&
    nodeOf(address) === undefined &&
    podCidrs.some(cidr => cidrContains(cidr, address));
  const all = addressesOf(cluster).filter(address => !isUnknown(address));
  return all.flatMap(from =>
    all.flatMap((to): [Address, Address][] => {
      const [source, destination] = [owners.get(from), owners.get(to)];
      if (familyOf(from) !== familyOf(to) || (source ?? destination) === undefined || from === to) return [];
      if (source === undefined && destination!.node === nodeOf(from)) return [];
      return [[from, to]];
    }),
  );
}
