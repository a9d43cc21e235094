/** Policies with hundreds of groups of hundreds of pods, which are prepared before they are applied. */
import { describe, expect, test } from 'vitest';
import { AWAITED, flushedEngineOf, NODE, readying } from '../../../../test/support/agent/engine.ts';
import {
  allowNetwork,
  changeOf,
  ingressPolicy,
  isIn,
  podEvent,
  policyEvent,
  rulesOfPods,
  tenantPod,
} from '../../../../test/support/agent/tenants.ts';
import { assertExactly, assertInForce, clusterOf } from '../../../../test/support/oracle/inforce.ts';
import { wholeOf } from '../../../lib/collections/pieces.ts';
import type { ClusterEvent } from '../../../model/cluster.ts';
import type { Policy } from '../../../model/policy.ts';
import type { PolicyChange } from '../../../model/policychange.ts';
import type { Ruleset } from '../../../nft/ruleset.ts';
import type { Incremental } from '../incremental.ts';
import { MOST_LOOKUPS } from '../pods/livepods.ts';
import { type TimeBudget, UNLIMITED_TIME } from '../workbudget.ts';

const SELECTORS = 240;
const PODS = 400;
/** The ports of each policy that is merged with others. */
const MERGED_PORTS = 20;

function pod(n: number, app: string, node = 'n2'): ClusterEvent {
  return podEvent(tenantPod('tenant', n, { labels: { app }, node }));
}

/** Each selector is a set of its own: red pods, or pods with another label of this version. */
function selecting(name: string, version = 0): Policy {
  const rules = rulesOfPods('tenant', SELECTORS, n => isIn('app', 'red', `${name}-${version}-${n}`));
  return ingressPolicy(`tenant/${name}`, rules);
}

const pods = [
  ...Array.from({ length: PODS }, (_, n) => pod(n, 'red')),
  pod(PODS, 'blue', NODE),
  pod(PODS + 1, 'red', NODE),
];

const eventOf = ({ id, value }: PolicyChange): ClusterEvent =>
  value === undefined ? { type: 'policy', key: id } : policyEvent(value);

/** How many set members are not in the other ruleset. */
function newElements(before: Ruleset, { tables }: Ruleset): number {
  const known = before.tables.get('ip')!.sets;
  const made = [...tables.get('ip')!.sets.values()].filter(
    ({ name, verdicts }) => !verdicts && !known.has(name),
  );
  return made.reduce((sum, { elements }) => sum + elements.size, 0);
}

/** Flushes until nothing is left to do. Returns how many elements the new sets of each flush had. */
function flushAll(engine: Incremental, before: Ruleset): { counts: number[]; last: Ruleset } {
  const counts: number[] = [];
  let last = before;
  do {
    const next = wholeOf(engine.flushInPieces());
    counts.push(newElements(last, next));
    last = next;
  } while (engine.isBehind());
  return { counts, last };
}

test('the groups of a policy begin some in each flush, and nothing in force is different by it', () => {
  const engine = flushedEngineOf(pods);
  const before = engine.flush();
  const policy = selecting('many');
  expect(engine.isPrepared(changeOf(policy))).toBe(false);
  engine.prepare([changeOf(policy)]);
  const { counts, last } = flushAll(engine, before);
  expect(engine.isPrepared(changeOf(policy))).toBe(true);
  expect(counts.length).toBeGreaterThanOrEqual((SELECTORS * PODS) / MOST_LOOKUPS);
  expect(Math.max(...counts)).toBeLessThanOrEqual(MOST_LOOKUPS + PODS + 2);
  expect(counts.reduce((a, b) => a + b)).toBe(SELECTORS * (PODS + 1));
  assertInForce(last, clusterOf(pods));
});

test('a policy that is noted when it is ready makes no elements of its peers any more', () => {
  const engine = flushedEngineOf(pods);
  const policy = selecting('many');
  engine.prepare([changeOf(policy)]);
  engine.flush();
  const before = wholeOf(engine.flushInPieces());
  engine.apply(pod(3, 'blue')); // is applied meanwhile
  engine.apply(policyEvent(policy));
  engine.prepare([]);
  const now = wholeOf(engine.flushInPieces());
  expect(newElements(before, now)).toBeLessThan(2 * SELECTORS);
  expect(engine.isBehind()).toBe(false);
  assertExactly(now, clusterOf([...pods, pod(3, 'blue'), policyEvent(policy)]));
});

test('a new version keeps the groups that both versions need, and others are deleted', () => {
  const [first, second] = [selecting('many'), selecting('many', 1)];
  const events = [...pods, policyEvent(first)];
  const engine = flushedEngineOf(events);
  engine.prepare([changeOf(second)]);
  engine.flush();
  engine.prepare([]);
  assertExactly(engine.flush(), clusterOf(events));
  const same = selecting('many');
  engine.prepare([changeOf(same)]); // groups that exist already are not filled again
  wholeOf(engine.flushInPieces());
  expect(engine.isPrepared(changeOf(same))).toBe(true);
});

test('two policies are prepared in turns', () => {
  const engine = flushedEngineOf(pods);
  const before = engine.flush();
  engine.prepare([selecting('one'), selecting('two')].map(changeOf));
  const sets = [...wholeOf(engine.flushInPieces()).tables.get('ip')!.sets.values()];
  const made = sets.filter(({ name }) => !before.tables.get('ip')!.sets.has(name));
  const of = (name: string) => made.filter(({ comment }) => comment?.includes(`${name}-0-`)).length;
  expect(Math.abs(of('one') - of('two'))).toBeLessThanOrEqual(1);
  expect(of('one')).toBeGreaterThan(3);
});

test('of two policies each has its turn, however little a flush has room for', () => {
  const engine = flushedEngineOf(pods, { mostLookups: 1 });
  const before = engine.flush();
  engine.prepare([selecting('one'), selecting('two')].map(changeOf));
  let last = before;
  for (let flushes = 0; flushes < 4; flushes++) last = wholeOf(engine.flushInPieces());
  const sets = [...last.tables.get('ip')!.sets.values()];
  const of = (name: string) => sets.filter(({ comment }) => comment?.includes(`${name}-0-`)).length;
  expect([of('one'), of('two')]).toEqual([2, 2]);
});

test('policies of many tenants begin in several flushes, whichever is edited meanwhile', () => {
  const engine = flushedEngineOf(pods, { mostLookups: 20 * PODS }); // enough for one group of each policy
  const names = (kind: string, count: number) => Array.from({ length: count }, (_, n) => `${kind}-${n}`);
  const [edited, others] = [names('edited', 4), names('other', 8)];
  const kept = others.map(name => selecting(name));
  const begun = new Set<string>();
  const most = others.length * 2;
  for (let version = 0; version < most && begun.size < others.length; version++) {
    engine.prepare([...edited.map(name => selecting(name, version)), ...kept].map(changeOf));
    const sets = [...wholeOf(engine.flushInPieces()).tables.get('ip')!.sets.values()];
    for (const name of others)
      if (sets.some(({ comment }) => comment?.includes(`${name}-0-`))) begun.add(name);
    if (version === 0) expect(begun.size).toBeLessThan(others.length);
  }
  expect([...begun].sort()).toEqual(others);
});

test('what has no peers in the cluster, or selects no pod here, needs no preparation', () => {
  const engine = flushedEngineOf(pods);
  expect(engine.isPrepared(changeOf(ingressPolicy('tenant/deny', [])))).toBe(true);
  const nowhere = ingressPolicy('nowhere/many', selecting('many').ingress!);
  engine.prepare([changeOf(nowhere)]);
  const { counts } = flushAll(engine, engine.flush());
  expect([counts, engine.isPrepared(changeOf(nowhere))]).toEqual([[0], true]);
});

/** Small policies with the same ports and selectors of their own: their peers are merged into common sets. */
function merged(name: string, version = 0): Policy {
  const { ingress } = selecting(name, version);
  return ingressPolicy(`tenant/${name}`, ingress!.slice(0, MERGED_PORTS));
}

/** Applies the change as soon as it is prepared, as the agent does. Returns the most new elements that a flush had. */
function takeIn(engine: Incremental, change: PolicyChange): number {
  const flushed = [engine.flush(), ...readying(engine, [change])];
  engine.apply(eventOf(change));
  engine.prepare([]);
  flushed.push(wholeOf(engine.flushInPieces()));
  return Math.max(...flushed.slice(1).map((next, before) => newElements(flushed[before]!, next)));
}

describe('of policies that are merged', () => {
  const names = ['a', 'b', 'c', 'd', 'e'];
  const events = [...pods, ...names.map(name => policyEvent(merged(name)))];
  const room = 2 * PODS;

  test('a change looks at as many pods as the groups that it is merged into', () => {
    const engine = flushedEngineOf(events, { mostLookups: room });
    const few = ingressPolicy('tenant/a', merged('a').ingress!.slice(0, 1));
    expect(engine.countLookedAt(changeOf(few))).toBeGreaterThan(MERGED_PORTS * PODS);
    const gone: PolicyChange = { id: few.id, value: undefined };
    expect(engine.countLookedAt(gone)).toBeGreaterThanOrEqual(MERGED_PORTS * PODS);
    expect(engine.countLookedAt(changeOf(ingressPolicy('tenant/other', [])))).toBe(0);
  });

  test.for([
    ['an edit', changeOf(merged('c', 1))],
    ['a new one', changeOf(merged('f'))],
    ['a deletion', { id: merged('c').id, value: undefined }],
  ] as const)('%s makes a few sets in each flush', ([, change]) => {
    const engine = flushedEngineOf(events, { mostLookups: room });
    expect(takeIn(engine, change)).toBeLessThanOrEqual(room + PODS + MERGED_PORTS);
    assertExactly(engine.flush(), clusterOf([...events, eventOf(change)]));
  });

  test('a prepared change is prepared again if another one of them has changed meanwhile', () => {
    const engine = flushedEngineOf(events, { mostLookups: room });
    const [first, second] = [changeOf(merged('a', 1)), changeOf(merged('b', 1))];
    engine.prepare([first, second]);
    engine.flush();
    expect([engine.isPrepared(first), engine.isPrepared(second)]).toEqual([true, true]);
    engine.apply(eventOf(first));
    engine.prepare([second]);
    wholeOf(engine.flushInPieces());
    expect(engine.isPrepared(second)).toBe(false);
    expect(takeIn(engine, second)).toBeLessThanOrEqual(room + PODS + MERGED_PORTS);
    assertExactly(engine.flush(), clusterOf([...events, eventOf(first), eventOf(second)]));
  });

  test('one that is overtaken by others each time goes as it is', () => {
    const engine = flushedEngineOf(events, { mostLookups: room });
    const waiting = changeOf(merged('a', 1));
    let version = 0;
    do {
      engine.prepare([waiting]);
      engine.flush();
      engine.apply(policyEvent(merged('b', ++version)));
      wholeOf(engine.flushInPieces());
    } while (!engine.isPrepared(waiting) && version < 20);
    expect(version).toBeGreaterThan(2);
    expect(engine.isPrepared(waiting)).toBe(true);
  });
});

/** Many rules, each with a port of its own, for one network. */
function ofManyRules(version = 0): Policy {
  const rules = Array.from({ length: 1000 }, (_, n) => allowNetwork(n, 1000 + n + (n === 0 ? version : 0)));
  return ingressPolicy('tenant/rules', rules);
}

/** How many pieces the next flush has. */
function piecesOf(engine: Incremental, timeBudget = UNLIMITED_TIME): number {
  const flushing = engine.flushInPieces(timeBudget);
  let pieces = 1;
  while (!flushing.next().done) pieces++;
  return pieces;
}

const flushesUntilReady = (engine: Incremental, change: PolicyChange, timeBudget = UNLIMITED_TIME) =>
  readying(engine, [change], timeBudget).length;

test('the rules of a large policy are made before it comes, and once', () => {
  const engine = flushedEngineOf([...pods, policyEvent(ofManyRules())]);
  const edit = ofManyRules(1);
  expect(engine.isPrepared(changeOf(edit))).toBe(false);
  engine.prepare([changeOf(edit)]);
  const [ahead, nothing] = [piecesOf(engine), piecesOf(engine)];
  expect(nothing).toBeLessThan(ahead);
  engine.apply(policyEvent(edit));
  expect(piecesOf(engine)).toBeLessThan(ahead / 2);
  assertExactly(engine.flush(), clusterOf([...pods, policyEvent(edit)]));
});

describe('while an event waits for the next flush', () => {
  test('a policy begins fewer groups, and some in each', () => {
    const change = changeOf(selecting('many'));
    const alone = flushesUntilReady(flushedEngineOf(pods), change);
    const beside = flushesUntilReady(flushedEngineOf(pods), change, AWAITED);
    expect(beside).toBeGreaterThan(2 * alone);
  });

  test('a policy begins no group beside who waits, and not twice in a row', () => {
    const engine = flushedEngineOf(pods);
    let last = engine.flush();
    engine.prepare([changeOf(selecting('many'))]);
    const counts: boolean[] = [];
    while (counts.filter(has => has).length < 4 && counts.length < 100) {
      const next = wholeOf(engine.flushInPieces(AWAITED));
      counts.push(newElements(last, next) > 0);
      last = next;
    }
    const begun = counts.slice(counts.indexOf(true));
    expect(begun).toEqual([true, false, true, false, true, false, true]);
  });

  test('one piece is made of the rules of a large policy, and the next flush goes on', () => {
    const change = changeOf(ofManyRules());
    const flushes = flushesUntilReady(flushedEngineOf(pods), change, AWAITED);
    expect(flushes).toBeGreaterThan(10);
    const engine = flushedEngineOf(pods);
    const least = piecesOf(engine, AWAITED);
    engine.prepare([change]);
    expect(piecesOf(engine, AWAITED)).toBeLessThan(least + 5);
  });

  test('in a moment more of its pieces are made, and as many in each flush', () => {
    const momentOf = (pieces: number): TimeBudget => ({
      hasWaitingEvents: () => true,
      moment: () => {
        let left = pieces;
        return () => left-- > 0;
      },
    });
    const change = changeOf(ofManyRules());
    const flushes = (pieces: number) => flushesUntilReady(flushedEngineOf(pods), change, momentOf(pieces));
    expect(flushes(4)).toBeLessThan(flushes(0) / 3);
  });

  test('a policy that is edited meanwhile begins again, and the former version leaves nothing', () => {
    const engine = flushedEngineOf(pods);
    engine.prepare([changeOf(selecting('many'))]);
    wholeOf(engine.flushInPieces(AWAITED));
    expect(flushesUntilReady(engine, changeOf(selecting('many', 1)))).toBeGreaterThan(0);
    engine.prepare([]);
    assertExactly(engine.flush(), clusterOf(pods));
  });
});
