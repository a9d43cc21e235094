/** Thousands of pods that are relabelled, where hundreds of selectors mention their labels. */
import { describe, expect, test } from 'vitest';
import { engineOf, flushedEngineOf, NODE } from '../../../../test/support/agent/engine.ts';
import {
  allowPods,
  ingressPolicy,
  podEvent,
  policyEvent,
  tenantPod,
} from '../../../../test/support/agent/tenants.ts';
import { assertExactly, clusterOf } from '../../../../test/support/oracle/inforce.ts';
import { wholeOf } from '../../../lib/collections/pieces.ts';
import { parseAddress } from '../../../model/address.ts';
import type { ClusterEvent, Pod, PodKey } from '../../../model/cluster.ts';
import type { Rule } from '../../../model/policy.ts';
import type { Labels, Operator } from '../../../model/selector.ts';
import { plan } from '../../../nft/plan/plan.ts';
import type { Ruleset } from '../../../nft/ruleset.ts';
import { MOST_LOOKUPS } from './livepods.ts';

const SELECTORS = 240;
const PODS = 400;

function pod(namespace: string, n: number, labels: Labels, node = 'n2'): ClusterEvent {
  return podEvent(tenantPod(namespace, n, { labels, node }));
}

/** Each rule is for another port, so that each selector is a set of its own. */
function rule(n: number, operator: Operator, values: readonly string[]): Rule {
  const requirements = [{ key: 'app', operator, values }];
  const namespaces = { kind: 'name', name: 'tenant' } as const;
  return allowPods(n, [{ namespaces, pods: { requirements } }]);
}

const rules = (operator: Operator) =>
  Array.from({ length: SELECTORS }, (_, n) => rule(n, operator, ['red', `x${n}`]));

const namespaces = ['tenant', 'neighbour'].map(
  (name): ClusterEvent => ({
    type: 'namespace',
    key: name,
    value: { name, labels: {} },
  }),
);

/** A policy of the neighbour namespace that allows its own pods with one label. */
function neighbourPolicy(): ClusterEvent {
  const [peers] = [{ ...rule(0, 'In', ['web']), peers: [selectorIn('neighbour')] }];
  return policyEvent(ingressPolicy('neighbour/allow', [peers!]));
}

function selectorIn(name: string) {
  const pods = { requirements: [{ key: 'app', operator: 'In' as const, values: ['web'] }] };
  return { kind: 'pods' as const, selector: { namespaces: { kind: 'name' as const, name }, pods } };
}

function cluster(operator: Operator): ClusterEvent[] {
  return [
    ...namespaces,
    ...Array.from({ length: PODS }, (_, n) => pod('tenant', n, { app: 'blue' })),
    pod('tenant', PODS, { app: 'blue' }, NODE),
    pod('neighbour', 1, {}, NODE),
    pod('neighbour', 2, { app: 'db' }),
    policyEvent(ingressPolicy('tenant/many', rules(operator))),
    neighbourPolicy(),
  ];
}

/** Changes the labels of pods on this node and on others. */
const relabelled = (app: string) => [
  ...Array.from({ length: PODS }, (_, n) => pod('tenant', n, { app })),
  pod('tenant', PODS, { app }, NODE),
  pod('neighbour', 2, { app: 'web' }),
];

function elementsOf(before: Ruleset, now: Ruleset): number {
  const counts = plan(before, now).map(op =>
    op.op === 'addElements' ? op.elements.length : op.op === 'delElements' ? op.keys.length : 0,
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

describe.each<Operator>(['In', 'NotIn'])('%s', operator => {
  test('a flush applies some of the pods, those of small namespaces first, and in the end all of them', () => {
    const first = cluster(operator);
    const engine = engineOf(first);
    let before = engine.flush();
    for (const event of relabelled('red')) engine.apply(event);
    const flushed = wholeOf(engine.flushInPieces());
    const sets = [...flushed.tables.get('ip')!.sets.values()];
    const holders = (address: string) =>
      sets.filter(({ name, elements }) => /^(peers|others)/.test(name) && elements.has(address));
    expect(holders('10.9.0.2').length).toBe(1); // the neighbour's set
    expect(holders(`10.6.${PODS >> 8}.${PODS & 255}`).length).toBeGreaterThanOrEqual(SELECTORS); // a pod of this node
    const isTaken = ({ key }: ClusterEvent) => {
      const address = [...engine.cluster.pods.get(key as PodKey)!.addresses][0]!;
      const count = holders(address).length;
      return count > (operator === 'NotIn' && key.startsWith('tenant/') ? 1 : 0); // one set contains all pods
    };
    const taken = relabelled('red').filter(isTaken);
    expect(taken.length).toBeLessThan(PODS / 2);
    assertExactly(flushed, clusterOf([...first, ...taken])); // as if the other events had not come
    const steps = [elementsOf(before, flushed)];
    before = flushed;
    while (engine.isBehind()) {
      const next = wholeOf(engine.flushInPieces());
      steps.push(elementsOf(before, next));
      before = next;
    }
    expect(Math.max(...steps)).toBeLessThanOrEqual(MOST_LOOKUPS + 3 * SELECTORS);
    expect(steps.length).toBeGreaterThan((PODS * SELECTORS) / MOST_LOOKUPS - 1);
    assertExactly(before, clusterOf([...first, ...relabelled('red')]));
  });

  test('a flush with a policy that an event waits for applies fewer of them', () => {
    const engine = engineOf(cluster(operator));
    const before = engine.flush();
    for (const event of relabelled('red')) engine.apply(event);
    engine.apply(policyEvent(ingressPolicy('neighbour/deny', [])));
    expect(elementsOf(before, wholeOf(engine.flushInPieces()))).toBeLessThanOrEqual(
      MOST_LOOKUPS / 4 + 3 * SELECTORS,
    );
    expect(engine.isBehind()).toBe(true);
  });

  test('what no selector mentions touches nothing, and is in the next flush', () => {
    const first = cluster(operator);
    const engine = engineOf(first);
    const before = engine.flush();
    const others = Array.from({ length: PODS }, (_, n) =>
      pod('tenant', n, { app: `green-${n}`, extra: 'yes' }),
    );
    for (const event of others) engine.apply(event);
    const now = wholeOf(engine.flushInPieces());
    expect(engine.isBehind()).toBe(false);
    expect(plan(before, now)).toEqual([]);
  });
});

describe('pods of this node', () => {
  const LOCAL = 60;
  const here = (n: number, app: string) => pod('tenant', PODS + 1 + n, { app }, NODE);
  const all = (app: string) => Array.from({ length: LOCAL }, (_, n) => here(n, app));
  const first = [...cluster('In'), ...all('blue')];

  test('that are relabelled are taken some in each flush, as if nothing had been said of the others', () => {
    const engine = flushedEngineOf(first);
    let before = engine.flush();
    for (const event of all('red')) engine.apply(event);
    const steps: number[] = [];
    do {
      const next = wholeOf(engine.flushInPieces());
      const waiting = new Set(engine.waitingPods().keys());
      const taken = all('red').filter(({ key }) => !waiting.has(key as PodKey));
      assertExactly(next, clusterOf([...first, ...taken]));
      steps.push(elementsOf(before, next));
      before = next;
    } while (engine.isBehind());
    expect(Math.max(...steps)).toBeLessThanOrEqual(MOST_LOOKUPS + 2 * SELECTORS);
    expect(steps.length).toBeGreaterThan((LOCAL * SELECTORS) / MOST_LOOKUPS - 1);
  });

  test('that come, go or have another address are in the next flush, whatever else waits', () => {
    const engine = flushedEngineOf(first);
    for (const event of [...relabelled('red'), ...all('red')]) engine.apply(event);
    wholeOf(engine.flushInPieces());
    const moved = pod('tenant', PODS + LOCAL, { app: 'red' }, NODE);
    const addresses = [parseAddress('10.6.9.9')!];
    const now: ClusterEvent[] = [
      pod('tenant', PODS + LOCAL + 1, { app: 'red' }, NODE),
      { type: 'pod', key: here(LOCAL - 2, 'red').key as PodKey },
      podEvent({ ...(moved as ClusterEvent & { value: Pod }).value, addresses }),
    ];
    for (const event of now) engine.apply(event);
    wholeOf(engine.flushInPieces());
    const waiting = engine.waitingPods();
    expect(waiting.size).toBeGreaterThan(0);
    for (const { key } of now) expect(waiting.has(key as PodKey)).toBe(false);
    assertExactly(engine.flush(), clusterOf([...first, ...relabelled('red'), ...all('red'), ...now]));
  });
});

test('a pod that changes again while it waits, goes, or gives its address away is as it is at last', () => {
  const first = cluster('In');
  const engine = engineOf(first);
  engine.flush();
  const history: ClusterEvent[] = [];
  const note = (events: readonly ClusterEvent[]) => {
    for (const event of events) engine.apply(event);
    history.push(...events);
    wholeOf(engine.flushInPieces());
    expect(engine.isBehind()).toBe(true);
  };
  note(relabelled('red'));
  const gone: ClusterEvent[] = [PODS - 1, PODS - 2].map(n => ({
    type: 'pod',
    key: `tenant/p${n}` as PodKey,
  }));
  note([...relabelled('x1').slice(300), ...gone]);
  note([
    ...relabelled('red').slice(50, 300),
    movedTo('neighbour', 3, PODS - 1),
    movedTo('tenant', 900, PODS - 2),
  ]);
  assertExactly(engine.flush(), clusterOf([...first, ...history]));
});

/** Another pod, with the address of the tenant's `n`th pod. */
function movedTo(namespace: string, name: number, n: number): ClusterEvent {
  const addresses = [parseAddress(`10.6.${n >> 8}.${n & 255}`)!];
  return podEvent(
    tenantPod(namespace, name, { labels: { app: 'web' }, node: 'n2', addresses, createdAt: 'z' }),
  );
}

test('a pod with the address of a deleted one inherits nothing that was allowed, whatever else waits', () => {
  const first = cluster('In');
  const engine = engineOf(first);
  const holders = (ruleset: Ruleset) =>
    [...ruleset.tables.get('ip')!.sets.values()].filter(({ elements }) => elements.has('10.6.1.0')).length;
  engine.flush();
  for (const event of relabelled('red')) engine.apply(event);
  expect(holders(engine.flush())).toBe(SELECTORS);
  // All pods of the tenant go, one after the other. An address is given to a pod that is not younger.
  for (let n = 0; n < PODS; n++) engine.apply({ type: 'pod', key: `tenant/p${n}` });
  const successor = tenantPod('neighbour', 7, {
    labels: { app: 'other' },
    node: 'n2',
    addresses: [parseAddress('10.6.1.0')!],
  });
  engine.apply(podEvent(successor));
  expect(holders(wholeOf(engine.flushInPieces()))).toBe(0);
  expect(engine.isBehind()).toBe(true);
});

describe('many namespaces whose pods are selected by one tenant', () => {
  const CROWDS = Array.from({ length: 21 }, (_, n) => `crowd-${String.fromCharCode(97 + n)}`);
  const address = (crowd: number, n: number) => [parseAddress(`10.${20 + crowd}.0.${n}`)!];
  const crowdPod = (crowd: number, n: number, app: string) =>
    podEvent(tenantPod(CROWDS[crowd]!, n, { labels: { app }, node: 'n2', addresses: address(crowd, n) }));
  const relabelling = (app: string) =>
    CROWDS.flatMap((_, crowd) => [1, 2, 3].map(n => crowdPod(crowd, n, app)));

  /**
   * Selectors of pods in all namespaces: each pod of one namespace is in so many groups that 21 pods exceed what a
   * flush may look at.
   */
  function selectingAll(): ClusterEvent {
    const everywhere = { kind: 'labels', selector: { requirements: [] } } as const;
    const all = Array.from({ length: 960 }, (_, n): Rule => {
      const requirements = [{ key: 'app', operator: 'NotIn' as const, values: ['red', `x${n}`] }];
      const selector = { namespaces: everywhere, pods: { requirements } };
      return { ...rule(n, 'In', []), peers: [{ kind: 'pods', selector }] };
    });
    return policyEvent(ingressPolicy('tenant/all', all));
  }

  const first = [
    ...namespaces,
    pod('tenant', 1, {}, NODE),
    pod('neighbour', 1, {}, NODE),
    pod('neighbour', 2, { app: 'web' }),
    selectingAll(),
    neighbourPolicy(),
    ...relabelling('blue'),
  ];

  /** How many sets of peers contain it: one set of all pods, and the neighbour's. */
  function holding(ruleset: Ruleset): number {
    const sets = [...ruleset.tables.get('ip')!.sets.values()];
    return sets.filter(({ name, elements }) => name.startsWith('peers') && elements.has('10.9.0.2')).length;
  }

  test('a neighbour’s pod that loses its label is applied in the next flush, whatever else waits', () => {
    const engine = engineOf(first);
    expect(holding(engine.flush())).toBe(2);
    for (const event of relabelling('red')) engine.apply(event);
    wholeOf(engine.flushInPieces());
    expect(engine.isBehind()).toBe(true);
    const lost = pod('neighbour', 2, { app: 'red' });
    engine.apply(lost);
    expect(holding(wholeOf(engine.flushInPieces()))).toBe(1);
    expect(engine.isBehind()).toBe(true);
    assertExactly(engine.flush(), clusterOf([...first, ...relabelling('red'), lost]));
  });

  test('a pod that is gone goes before those of its namespace that are relabelled', () => {
    const engine = engineOf(first);
    engine.flush();
    const crowd = relabelling('red');
    const gone: ClusterEvent = { type: 'pod', key: `${CROWDS[0]}/p3` as PodKey };
    for (const event of [...crowd, gone]) engine.apply(event);
    const flushed = wholeOf(engine.flushInPieces());
    expect(engine.isBehind()).toBe(true);
    const left = [...flushed.tables.get('ip')!.sets.values()].filter(({ elements }) =>
      elements.has('10.20.0.3'),
    );
    expect(left).toEqual([]);
  });
});
