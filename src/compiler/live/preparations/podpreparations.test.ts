/** Pods of this node that are relabelled into a class whose groups are all new. */
import { describe, expect, test } from 'vitest';
import { flushedEngineOf, NODE } from '../../../../test/support/agent/engine.ts';
import {
  ingressPolicy,
  isIn,
  podEvent,
  policyEvent,
  rulesOfPods,
  tenantPod,
} from '../../../../test/support/agent/tenants.ts';
import { assertExactly, assertInForce } from '../../../../test/support/oracle/inforce.ts';
import { wholeOf } from '../../../lib/collections/pieces.ts';
import { parseAddress } from '../../../model/address.ts';
import type { ClusterEvent, PodKey } from '../../../model/cluster.ts';
import type { Policy, Rule } from '../../../model/policy.ts';
import { plan } from '../../../nft/plan/plan.ts';
import type { Ruleset } from '../../../nft/ruleset.ts';
import type { Incremental } from '../incremental.ts';
import type { Limits } from '../limits.ts';
import { POD_PATIENCE } from './podpreparations.ts';

const PODS = 200;
const POLICIES = 4;
const PORTS = 20;
/** The work budget of a flush. */
const ROOM = 2 * PODS;
/** A flush may exceed its budget by one group, and by some elements of the pod itself. */
const MOST_OF_A_FLUSH = ROOM + PODS + 2 * PORTS;

/** Fails a test in which work never ends. */
const MOST_FLUSHES = 500;

const HERE = 'tenant/p300' as PodKey;

function pod(n: number, labels: Record<string, string>, node = 'n2'): ClusterEvent {
  return podEvent(tenantPod('tenant', n, { labels, node }));
}

const here = (role: string, n = 300) => pod(n, { role }, NODE);

/** A policy for red pods; rules with the same ports are merged, and each role has sets of its own. */
function allowingRed(role: string, n: number, version = 0): Policy {
  const required = (port: number) => isIn('app', 'red', `${role}-${n}-${port}-${version}`);
  const rules = rulesOfPods('tenant', PORTS, required);
  return ofRole(role, `${role}-${n}`, rules);
}

function ofRole(role: string, name: string, rules: readonly Rule[]): Policy {
  return ingressPolicy(`tenant/${name}`, rules, isIn('role', role));
}

const policiesOf = (role: string) =>
  Array.from({ length: POLICIES }, (_, n) => policyEvent(allowingRed(role, n)));

const first: readonly ClusterEvent[] = [
  { type: 'namespace', key: 'tenant', value: { name: 'tenant', labels: {} } },
  ...Array.from({ length: PODS }, (_, n) => pod(n, { app: 'red' })),
  here('none'),
  ...policiesOf('a'),
  ...policiesOf('b'),
  ...policiesOf('c'),
  policyEvent(ofRole('few', 'few', allowingRed('few', 0).ingress!.slice(0, 1))),
  policyEvent(ofRole('alone', 'alone', [])),
];

/** The ruleset of an engine's last flush. */
const last = new WeakMap<Incremental, Ruleset>();

/** An engine that has these pods in its rules. */
function engineOf(pods: readonly ClusterEvent[], limits: Partial<Limits> = {}): Incremental {
  const engine = flushedEngineOf([...first, ...pods], { mostLookups: ROOM, ...limits });
  last.set(engine, engine.flush());
  return engine;
}

/** How many elements of sets differ. */
function elementsOf(before: Ruleset, now: Ruleset): number {
  const counts = plan(before, now).map(op =>
    op.op === 'addElements' ? op.elements.length : op.op === 'delElements' ? op.keys.length : 0,
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

/**
 * Flushes once. The rules have to be those of the cluster, with waiting pods as they were before. Returns how many
 * elements differ.
 */
function flushOne(engine: Incremental): number {
  const before = last.get(engine)!;
  const flushed = wholeOf(engine.flushInPieces());
  last.set(engine, flushed);
  assertInForce(flushed, engine.cluster, engine.waitingPods());
  return elementsOf(before, flushed);
}

/** Flushes until nothing is left to do. Returns what `see` returned after each flush. */
function flushAll<T>(engine: Incremental, see: (elements: number) => T): T[] {
  const seen: T[] = [];
  do seen.push(see(flushOne(engine)));
  while (engine.isBehind() && seen.length < MOST_FLUSHES);
  expect(engine.isBehind()).toBe(false);
  assertExactly(last.get(engine)!, engine.cluster);
  return seen;
}

/** The labels with which the pod is in force. */
function inForce(engine: Incremental): string {
  const waiting = engine.waitingPods();
  const now = waiting.has(HERE) ? waiting.get(HERE)!.pod : engine.cluster.pods.get(HERE)!;
  return now.closed ? `${now.labels.role}, without allowances` : now.labels.role!;
}

test.for([
  ['a', 'b'],
  ['alone', 'b'],
  ['none', 'b'],
] as const)('from %s to %s the groups of its class are made some in each flush', ([from, to]) => {
  const engine = engineOf([here(from)]);
  engine.apply(here(to));
  const counts = flushAll(engine, elements => elements);
  expect(Math.max(...counts)).toBeLessThanOrEqual(MOST_OF_A_FLUSH);
  expect(counts.length).toBeGreaterThanOrEqual((PORTS * PODS) / MOST_OF_A_FLUSH);
});

test('a pod that is isolated already is what it was until its class is ready', () => {
  const engine = engineOf([here('a')]);
  engine.apply(here('b'));
  const seen = flushAll(engine, () => inForce(engine));
  expect(seen.length).toBeGreaterThan(POD_PATIENCE.isolating);
  expect(seen).toEqual([...Array.from({ length: seen.length - 1 }, () => 'a'), 'b']);
});

test('a pod that nothing has isolated is isolated after a second, and has its allowances when they are ready', () => {
  const engine = engineOf([here('none')], { patience: { ...POD_PATIENCE, isolating: 3 } });
  engine.apply(here('b'));
  const seen = flushAll(engine, () => inForce(engine));
  expect(seen.slice(0, 4)).toEqual(['none', 'none', 'none', 'b, without allowances']);
  expect(seen.slice(4).filter(now => now === 'none')).toEqual([]);
  expect(seen.at(-1)).toBe('b');
});

test('so is one that is isolated in another direction, where its class is another pod’s already', () => {
  const { ingress: _, ...policy } = ofRole('b', 'out', []);
  const subject = { ...policy.subject, pods: { requirements: isIn('role', 'b', 'quiet') } };
  const out = policyEvent({ ...policy, subject, egress: [] });
  const engine = engineOf([here('a'), here('quiet', 301), out], {
    patience: { ...POD_PATIENCE, isolating: 1 },
  });
  engine.apply(here('b'));
  const seen = flushAll(engine, () => inForce(engine));
  expect(seen.slice(0, 2)).toEqual(['a', 'b, without allowances']);
});

test('a pod that is relabelled again and again is without its former allowances in the end, in short flushes', () => {
  const engine = engineOf([here('a')], { patience: { isolating: 2, others: 6 } });
  const seen = Array.from({ length: 20 }, (_, n) => {
    engine.apply(here(n % 2 === 0 ? 'b' : 'c'));
    expect(flushOne(engine)).toBeLessThanOrEqual(MOST_OF_A_FLUSH);
    return inForce(engine);
  });
  expect(seen[0]).toBe('a');
  expect(seen.slice(7)).not.toContain('a');
});

test('if there is no room for both classes, the pod leaves its own, and is isolated only until the other is ready', () => {
  const members = PORTS * PODS;
  const room = { ofNamespace: 1.5 * members, ofAll: 10 * members };
  const engine = engineOf([here('a')], { room, patience: { isolating: 2, others: 20 } });
  engine.apply(here('b'));
  const seen = flushAll(engine, elements => ({ elements, now: inForce(engine) }));
  expect(Math.max(...seen.map(({ elements }) => elements))).toBeLessThanOrEqual(MOST_OF_A_FLUSH);
  expect([...new Set(seen.map(({ now }) => now))]).toEqual(['a', 'b, without allowances', 'b']);
  expect(engine.takeRefused()).toEqual([]);
});

test('what there is no room for at all is refused when the pod has its turn', () => {
  const room = { ofNamespace: PODS, ofAll: 10 * PODS };
  const engine = engineOf([here('none')], { room, patience: { isolating: 2, others: 20 } });
  engine.apply(here('b'));
  const seen = flushAll(engine, () => inForce(engine));
  expect(seen.at(-1)).toBe('b');
  expect(engine.takeRefused().length).toBeGreaterThan(0);
});

test('a class that looks at few pods, that another pod is in already, or that has not changed, is in the next flush', () => {
  const engine = engineOf([here('a')]);
  for (const role of ['few', 'alone', 'none']) {
    engine.apply(here(role));
    flushOne(engine);
    expect([role, inForce(engine)]).toEqual([role, role]);
  }
  const beside = engineOf([here('a', 301), here('b')]);
  beside.apply(here('a'));
  flushOne(beside);
  expect(inForce(beside)).toBe('a');
  beside.apply(here('b')); // no pod has this label any more
  flushOne(beside);
  beside.apply(here('a'));
  flushOne(beside);
  expect(beside.isBehind()).toBe(false);
});

test('if a policy of its class is edited when the class is ready, it is prepared again', () => {
  const relabelled = () => {
    const engine = engineOf([here('a')]);
    engine.apply(here('b'));
    return engine;
  };
  const flushes = flushAll(relabelled(), () => undefined).length;
  const engine = relabelled();
  for (let n = 1; n < flushes; n++) flushOne(engine);
  engine.apply(policyEvent(allowingRed('b', 0, 1)));
  const counts = flushAll(engine, elements => elements);
  expect(Math.max(...counts)).toBeLessThanOrEqual(MOST_OF_A_FLUSH);
});

test('pods with the same new class get it in one flush, and the classes of a namespace are prepared one by one', () => {
  const engine = engineOf([here('none', 301), here('none', 302)]);
  for (const event of [here('a'), here('a', 301), here('b', 302)]) engine.apply(event);
  const seen = flushAll(engine, () => engine.waitingPods().size);
  expect([...new Set(seen)]).toEqual([3, 1, 0]);
  // The second class takes as many flushes as the first one.
  expect(seen.filter(waiting => waiting === 1).length).toBeGreaterThan(seen.length / 3);
});

describe('while it waits', () => {
  /** An engine for which one flush was not enough. */
  function waitingEngine(): Incremental {
    const engine = engineOf([here('a')]);
    engine.apply(here('b'));
    flushOne(engine);
    expect(inForce(engine)).toBe('a');
    return engine;
  }

  test('a pod that goes, is finished, or has another address is so in the next flush', () => {
    const moved = tenantPod('tenant', 300, { labels: { role: 'b' }, addresses: [parseAddress('10.6.9.9')!] });
    const changes: ClusterEvent[] = [
      { type: 'pod', key: HERE },
      podEvent({ ...moved, finished: true }),
      podEvent(moved),
    ];
    for (const change of changes) {
      const engine = waitingEngine();
      engine.apply(change);
      flushOne(engine);
      expect(engine.waitingPods().size).toBe(0);
      flushAll(engine, () => undefined);
    }
  });

  test('a preparation ends with its pod', () => {
    const engine = waitingEngine();
    engine.apply(here('a'));
    flushOne(engine);
    expect(engine.isBehind()).toBe(false);
    assertExactly(engine.flush(), engine.cluster);
  });
});

test('a namespace that is relabelled has its pods here in their classes when these are ready', () => {
  const namespaces = {
    kind: 'labels',
    selector: { requirements: isIn('team', 'red') },
  } as const;
  const ofTeam = Array.from({ length: POLICIES }, (_, n): ClusterEvent => {
    const { ingress } = allowingRed('team', n);
    const policy = ingressPolicy(`tenant/team-${n}`, ingress!);
    return policyEvent({
      ...policy,
      id: `AdminNetworkPolicy team-${n}`,
      name: `team-${n}`,
      tier: 'admin',
      order: n,
      kind: 'AdminNetworkPolicy',
      subject: { namespaces, pods: { requirements: [] } },
    } as Policy);
  });
  const engine = engineOf(ofTeam);
  engine.apply({ type: 'namespace', key: 'tenant', value: { name: 'tenant', labels: { team: 'red' } } });
  const counts = flushAll(engine, elements => elements);
  expect(Math.max(...counts)).toBeLessThanOrEqual(MOST_OF_A_FLUSH);
  expect(counts.length).toBeGreaterThanOrEqual((PORTS * PODS) / MOST_OF_A_FLUSH);
});
