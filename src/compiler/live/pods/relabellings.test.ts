/** Namespaces of hundreds of pods that are relabelled, where hundreds of selectors mention their labels. */
import { expect, test } from 'vitest';
import { flushedEngineOf, NODE } from '../../../../test/support/agent/engine.ts';
import {
  allowPods,
  ingressPolicy,
  podEvent,
  policyEvent,
  tenantPod,
} from '../../../../test/support/agent/tenants.ts';
import { assertExactly, clusterOf } from '../../../../test/support/oracle/inforce.ts';
import { wholeOf } from '../../../lib/collections/pieces.ts';
import type { ClusterEvent, PodKey } from '../../../model/cluster.ts';
import type { Rule } from '../../../model/policy.ts';
import { plan } from '../../../nft/plan/plan.ts';
import type { Ruleset } from '../../../nft/ruleset.ts';
import type { Incremental } from '../incremental.ts';
import { MOST_LOOKUPS } from './livepods.ts';

const SELECTORS = 240;
const PODS = 200;
/** How many pods a flush can look up in all groups, and the one that exceeds the budget. */
const MOST_OF_A_FLUSH = MOST_LOOKUPS / SELECTORS + 1;

function namespace(name: string, team: string): ClusterEvent {
  return { type: 'namespace', key: name, value: { name, labels: { team } } };
}

function pod(name: string, n: number, node = 'n2'): ClusterEvent {
  return podEvent(tenantPod(name, n, { node }));
}

/** Each selector mentions a label of namespaces, and is a set of its own. */
function selectingTeams(): ClusterEvent {
  const rules = Array.from({ length: SELECTORS }, (_, n): Rule => {
    const requirements = [{ key: 'team', operator: 'In' as const, values: ['blue', `x${n}`] }];
    const namespaces = { kind: 'labels', selector: { requirements } } as const;
    return allowPods(n, [{ namespaces, pods: { requirements: [] } }]);
  });
  return policyEvent(ingressPolicy('tenant/many', rules));
}

const HERE = 250;

const first = [
  namespace('tenant', 'blue'),
  namespace('neighbour', 'blue'),
  ...Array.from({ length: PODS }, (_, n) => pod('tenant', n)),
  pod('tenant', HERE, NODE),
  pod('neighbour', 1),
  selectingTeams(),
];

function flushOne(engine: Incremental): Ruleset {
  return wholeOf(engine.flushInPieces());
}

/** How many sets of peers contain the address. */
function holding(ruleset: Ruleset, address: string): number {
  const sets = [...ruleset.tables.get('ip')!.sets.values()];
  return sets.filter(({ name, elements }) => /^peers/.test(name) && elements.has(address)).length;
}

test('a flush takes some of the pods of a namespace that is relabelled, those of this node at once, and in the end all', () => {
  const engine = flushedEngineOf(first);
  engine.apply(namespace('tenant', 'red'));
  engine.apply(namespace('neighbour', 'red'));
  const flushed = flushOne(engine);
  expect(holding(flushed, `10.6.0.${HERE}`)).toBe(0);
  expect(holding(flushed, '10.9.0.1')).toBe(0); // the namespace with fewer waiting pods comes first
  const waiting = engine.waitingPods();
  expect(waiting.size).toBeGreaterThanOrEqual(PODS - MOST_OF_A_FLUSH);
  expect(waiting.size).toBeLessThan(PODS);
  for (const [key, inForce] of waiting) {
    expect([key, inForce?.namespace.labels]).toEqual([key, { team: 'blue' }]);
    expect(holding(flushed, inForce!.pod.addresses[0]!)).toBe(SELECTORS);
  }
  assertExactly(
    engine.flush(),
    clusterOf([...first, namespace('tenant', 'red'), namespace('neighbour', 'red')]),
  );
});

test('a policy that comes meanwhile means the pods as their namespace is to them', () => {
  const engine = flushedEngineOf(first.slice(0, -1));
  engine.apply(selectingTeams());
  engine.flush();
  engine.apply(namespace('tenant', 'red'));
  flushOne(engine);
  const waiting = engine.waitingPods();
  const ofTeam = (team: string): ClusterEvent => {
    const requirements = [{ key: 'team', operator: 'In' as const, values: [team] }];
    const selector = {
      namespaces: { kind: 'labels', selector: { requirements } },
      pods: { requirements: [] },
    } as const;
    const rule: Rule = {
      path: 'ingress[0]',
      action: 'accept',
      peers: [{ kind: 'pods', selector }],
      ports: 'any',
    };
    return policyEvent(ingressPolicy(`tenant/of-${team}`, [rule]));
  };
  engine.apply(ofTeam('blue'));
  const flushed = flushOne(engine);
  const [key] = [...engine.waitingPods().keys()].filter(each => waiting.has(each));
  const address = engine.cluster.pods.get(key!)!.addresses[0]!;
  expect(holding(flushed, address)).toBe(SELECTORS + 1);
});

test('however often a namespace is relabelled while its pods wait, they know it by three kinds of labels at most, and by the last in the end', () => {
  const engine = flushedEngineOf(first);
  for (let n = 0; n < 40; n++) {
    engine.apply(namespace('tenant', n % 2 === 0 ? 'red' : `x${n}`));
    const kinds = new Set([...engine.waitingPods().values()].map(known => JSON.stringify(known?.namespace)));
    expect(kinds.size).toBeLessThanOrEqual(2);
    expect(holding(flushOne(engine), `10.6.0.${HERE}`)).toBe(n % 2 === 0 ? 0 : 1);
    expect(engine.isBehind()).toBe(true);
  }
  assertExactly(engine.flush(), clusterOf([...first, namespace('tenant', 'x39')]));
});

test('pods that come and go without end do not keep the others of their namespace from its new labels', () => {
  const engine = flushedEngineOf([...first, namespace('tenant', 'red')]);
  engine.apply(namespace('tenant', 'blue'));
  const last = pod('tenant', PODS - 1).key as PodKey;
  for (let flushes = 0; flushes === 0 || engine.waitingPods().has(last); flushes++) {
    expect(flushes).toBeLessThan((4 * PODS * SELECTORS) / MOST_LOOKUPS);
    // More than a flush has room for.
    for (let n = 201; n < 241; n++)
      engine.apply(flushes % 2 === 0 ? pod('tenant', n) : { type: 'pod', key: `tenant/p${n}` });
    flushOne(engine);
  }
});

test('an update of a namespace without a change makes no pod wait', () => {
  const engine = flushedEngineOf(first);
  const before = engine.flush();
  engine.apply(namespace('tenant', 'blue'));
  expect(plan(before, flushOne(engine))).toEqual([]);
  expect(engine.waitingPods().size).toBe(0);
});
