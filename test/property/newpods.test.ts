/** What `sluice matrix` lists of pods that are not there yet is what `evaluate` says once they are there. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { matrixObject, rowsOf } from '../../src/answers/reach/rows.ts';
import { matrixViewOf } from '../../src/answers/reach/view.ts';
import { familyOf } from '../../src/model/address.ts';
import { addressOwners } from '../../src/model/addressowners.ts';
import type { Cluster, Pod } from '../../src/model/cluster.ts';
import type { Flow } from '../../src/model/flow.ts';
import { NO_INVENTORY } from '../../src/model/inventory.ts';
import { evaluator } from '../../src/semantics/evaluate.ts';
import { knownClusterArbitrary } from '../support/arbitrary/cluster.ts';
import {
  labelsOfNew,
  NAMED,
  type NewPod,
  namespaceOfNew,
  newPod,
  newPodArbitrary,
  withoutNetworks,
  withPod,
} from '../support/arbitrary/newpods.ts';
import { pointsOf } from '../support/oracle/bruteforce.ts';
import { allowedByExposures, type PrintedExposure } from '../support/oracle/printedexposures.ts';
import { runs } from '../support/seed.ts';

const CLUSTERS = runs(500);
const POINTS = 4;

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
      const namespace = namespaceOfNew(bare, made);
      if (namespace === undefined) continue;
      const pod = newPod(made.namespace, labelsOfNew(made));
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
      knownClusterArbitrary,
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
