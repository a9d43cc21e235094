import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../test/support/seed.ts';
import type { Cidr } from '../../model/address.ts';
import type { Policy, PolicyId } from '../../model/policy.ts';
import type { PolicyChange } from '../../model/policychange.ts';
import { weightOf } from './change.ts';
import { FAIRNESS } from './limits.ts';
import { AdmissionQueue, RATION } from './queue.ts';

/** A policy that weighs about so much. */
function policy(name: string, weight = 2, order = 0): Policy {
  const [namespace] = name.split('/') as [string];
  const networks = Array.from(
    { length: weight - 2 },
    () => ({ kind: 'network', cidr: { family: 'ip' } as Cidr, except: [] }) as const,
  );
  return {
    id: `NetworkPolicy ${name}`,
    kind: 'NetworkPolicy',
    name,
    tier: 'networkpolicy',
    order,
    subject: { namespaces: { kind: 'name', name: namespace }, pods: { requirements: [] } },
    ingress: [{ path: 'ingress[0]', action: 'accept', peers: networks, ports: 'any' }],
  };
}

const LARGE = FAIRNESS.small + 1;
const change = (value: Policy): PolicyChange => ({ id: value.id, value });
const ids = (changes: readonly PolicyChange[]) => changes.map(({ id }) => id.split(' ')[1]);

/** A queue and what it knows to be in force. */
class Desk {
  readonly queue = new AdmissionQueue();
  readonly inForce = new Map<PolicyId, Policy>();

  note(value: Policy, nowMs = 0): void {
    this.queue.enqueue(change(value), this.inForce.get(value.id), nowMs);
  }

  remove(id: PolicyId, nowMs = 0): void {
    this.queue.enqueue({ id, value: undefined }, this.inForce.get(id), nowMs);
  }

  /** Takes a share that takes so long to commit; answers what is taken whole. */
  commit(nowMs: number, tookMs = 0): PolicyChange[] {
    const taken = this.queue.takeShare(nowMs);
    const whole = taken.filter(({ id }) => !this.queue.isolating.has(id));
    for (const { id, value } of taken) {
      if (value === undefined) this.inForce.delete(id);
      else this.inForce.set(id, value);
    }
    this.queue.took(tookMs, nowMs + tookMs);
    return whole;
  }
}

describe('AdmissionQueue', () => {
  test('takes small changes of everybody at once', () => {
    const desk = new Desk();
    for (const name of ['a/x', 'b/x', 'c/x']) desk.note(policy(name));
    expect(ids(desk.commit(0))).toEqual(['a/x', 'b/x', 'c/x']);
    expect(desk.queue.waiting(0)?.atMs).toBeUndefined();
  });

  test('takes a large change at once where nobody has had a turn', () => {
    const desk = new Desk();
    desk.note(policy('a/x', LARGE));
    expect(ids(desk.commit(0))).toEqual(['a/x']);
  });

  test('lets large changes wait for as long as the last one took, and small ones not', () => {
    const desk = new Desk();
    desk.note(policy('a/x', LARGE));
    desk.commit(0, 80);
    desk.note(policy('a/x', LARGE, 1), 80);
    desk.note(policy('b/small'), 80);
    expect([ids(desk.commit(80)), desk.queue.waiting(81)?.atMs]).toEqual([['b/small'], 160]);
    expect(ids(desk.commit(160))).toEqual(['a/x']);
  });

  test('makes one change of many edits of a policy, which keeps its place', () => {
    const desk = new Desk();
    desk.note(policy('a/x', LARGE), 1);
    desk.note(policy('b/x', LARGE), 2);
    for (let n = 1; n < 100; n++) desk.note(policy('a/x', LARGE, n), 2 + n);
    expect(desk.queue.statuses().map(({ sinceMs }) => sinceMs)).toEqual([1, 2]);
    const [first] = desk.commit(200);
    expect([first!.id, first!.value!.order]).toEqual(['NetworkPolicy a/x', 99]);
  });

  test('takes small changes without a large one that waits, but not twice in a row', () => {
    const desk = new Desk();
    desk.note(policy('a/x', LARGE));
    const batches = [1, 2, 3].map(n => {
      desk.note(policy(`b/${n}`));
      return ids(desk.commit(n));
    });
    expect(batches).toEqual([['b/1'], ['b/2', 'a/x'], ['b/3']]);
  });

  test('lets namespaces take turns', () => {
    const desk = new Desk();
    for (const name of ['a/1', 'a/2', 'a/3', 'b/1', 'c/1']) desk.note(policy(name, FAIRNESS.turn));
    const turns = Array.from({ length: 5 }, (_, n) => ids(desk.commit(n)));
    expect(turns).toEqual([['a/1'], ['b/1'], ['c/1'], ['a/2'], ['a/3']]);
  });

  test('takes of one namespace as much as a turn may weigh, and at least one policy', () => {
    const desk = new Desk();
    for (let n = 0; n < 1000; n++) desk.note(policy(`a/${n}`, 10));
    desk.note(policy('b/small'));
    const first = desk.commit(0);
    expect([first.length, first[0]!.id]).toEqual([1 + FAIRNESS.turn / 10, 'NetworkPolicy b/small']);
    expect(desk.queue.waiting(1)?.atMs).toBe(0);
    const huge = new Desk();
    huge.note(policy('b/huge', 5 * FAIRNESS.turn));
    expect(ids(huge.commit(0))).toEqual(['b/huge']);
  });

  test('takes of all namespaces as much as a batch may weigh, who wants the least first', () => {
    const desk = new Desk();
    for (let n = 0; n < 40; n++)
      for (let m = 0; m < 4; m++) desk.note(policy(`many-${n}/${m}`, FAIRNESS.small));
    desk.note(policy('good/deny'));
    const batch = desk.commit(0);
    const weight = batch.reduce((sum, { value }) => sum + weightOf(value), 0);
    expect([ids(batch)[0], weight <= FAIRNESS.batch]).toEqual(['good/deny', true]);
    for (let n = 1; desk.queue.size > 0; n++) expect(desk.commit(n).length, `batch ${n}`).toBeGreaterThan(0);
  });

  test('takes what tightens first: what is new, and what became smaller', () => {
    const desk = new Desk();
    for (const name of ['a/wider', 'a/narrower']) desk.note(policy(name, FAIRNESS.turn));
    desk.commit(0);
    desk.commit(0);
    desk.note(policy('a/wider', FAIRNESS.turn + 50), 1);
    desk.note(policy('a/narrower', FAIRNESS.turn - 50), 2);
    desk.note(policy('a/new', FAIRNESS.turn), 3);
    // The first batch isolates the pods of a new policy; its allow rules follow later.
    expect([ids(desk.commit(4)), [...desk.queue.isolating]]).toEqual([
      ['a/narrower'],
      ['NetworkPolicy a/new'],
    ]);
    expect([1, 2].flatMap(() => ids(desk.commit(4)))).toEqual(['a/wider', 'a/new']);
  });

  test('says since when what is ready has waited, whatever comes after it, and anew when a batch has left it behind', () => {
    const desk = new Desk();
    desk.note(policy('a/x'), 100);
    desk.note(policy('b/x'), 190);
    expect(desk.queue.waiting(200)).toEqual({ atMs: 100, sinceMs: 100, priority: 'tightening' });
    for (let n = 0; n < 2 * FAIRNESS.turn; n++) desk.note(policy(`c/${n}`), 200);
    desk.commit(210);
    expect(desk.queue.waiting(220)).toMatchObject({ atMs: 200, sinceMs: 210 });
  });

  test('lets a namespace go beyond the budget by what tightens, as often as its ration allows, and no other way', () => {
    const desk = new Desk();
    const priority = (nowMs: number) => desk.queue.waiting(nowMs)?.priority;
    for (let n = 0; n < RATION.burst; n++) {
      desk.note(policy(`a/${n}`));
      expect(priority(0)).toBe('tightening');
      desk.commit(0);
    }
    desk.note(policy('a/again'));
    expect(priority(0)).toBe('normal');
    desk.note(policy('b/deny'));
    expect(priority(0)).toBe('tightening');
    desk.commit(0);
    desk.note(policy('a/again', 20));
    desk.note(policy('a/later'));
    expect([priority(0), priority(1000 / RATION.perSecond)]).toEqual(['normal', 'tightening']);
    desk.commit(10_000);
    desk.note(policy('a/again', 40), 10_000);
    desk.remove('NetworkPolicy b/deny', 10_000);
    desk.inForce.set('NetworkPolicy c/large', policy('c/large', LARGE));
    desk.note(policy('c/large', LARGE + 1), 10_000);
    expect(priority(10_000)).toBe('normal');
    desk.note(policy('d/large', LARGE), 10_000); // isolates at once
    expect(priority(10_000)).toBe('tightening');
  });

  test('takes no policy that is audited for one that tightens, and leaves its namespace the whole ration', () => {
    const desk = new Desk();
    for (let n = 0; n < 3 * RATION.burst; n++) {
      desk.note({ ...policy('a/audited', 10 + (n % 2)), audited: true });
      expect(desk.queue.waiting(0)?.priority).toBe('normal');
      desk.commit(0);
      desk.inForce.clear(); // an audited policy never is
    }
    for (let n = 0; n < RATION.burst; n++) {
      desk.note(policy(`a/${n}`));
      expect(desk.queue.waiting(0)?.priority).toBe('tightening');
      desk.commit(0);
    }
  });

  test('takes a new policy of the whole cluster with a pod that starts, out of turn', () => {
    const desk = new Desk();
    desk.note(policy('a/x', LARGE));
    desk.commit(0, 500);
    const whole: Policy = { ...policy('/new', LARGE), id: 'ClusterNetworkPolicy new' };
    desk.note(whole, 500);
    expect(desk.commit(501)).toEqual([]);
    desk.queue.podStarted('b');
    expect([desk.queue.waiting(502)?.atMs, ids(desk.commit(502))]).toEqual([500, ['new']]);
  });

  test('isolates by all new policies of a namespace with a pod that starts there, however many', () => {
    const isolated = (starting?: string) => {
      const desk = new Desk();
      for (let n = 0; n < 3000; n++) desk.note(policy(`a/${n}`, 10));
      if (starting !== undefined) desk.queue.podStarted(starting);
      return [desk.commit(0).length, desk.queue.isolating.size];
    };
    const whole = FAIRNESS.turn / 10;
    expect(isolated()).toEqual([whole, FAIRNESS.turn]);
    expect(isolated('b')).toEqual([whole, FAIRNESS.turn]);
    expect(isolated('a')).toEqual([whole, 3000 - whole]);
  });

  test('takes a large change when it is ready, of what is gone too, and small ones whether or not', () => {
    const queue = new AdmissionQueue();
    const [large, small] = [policy('a/large', LARGE), policy('b/small')];
    for (const value of [large, small]) queue.enqueue(change(value), undefined, 0);
    queue.enqueue({ id: 'NetworkPolicy c/gone', value: undefined }, policy('c/gone', LARGE), 0);
    expect(ids(queue.takeShare(1, () => false))).toEqual(['b/small', 'a/large']);
    expect([...queue.isolating]).toEqual([large.id]);
    expect(ids(queue.takeShare(2, () => false))).toEqual([]);
    expect(queue.waiting(3)?.atMs).toBe(0);
    expect(ids(queue.takeShare(4, ({ value }) => value === large))).toEqual(['a/large']);
    expect(ids(queue.takeShare(5, ({ value }) => value === undefined))).toEqual(['c/gone']);
  });

  test('has what is ready kept so, and of each other namespace the next one made ready', () => {
    const queue = new AdmissionQueue();
    const large = ['a/1', 'a/2', 'a/3', 'b/1', 'b/2'].map((name, n) => policy(name, LARGE + n));
    for (const [n, value] of large.entries()) queue.enqueue(change(value), undefined, n);
    queue.enqueue(change(policy('c/small')), undefined, 9);
    const isReady = ({ value }: PolicyChange) => value?.name === 'a/1';
    expect(queue.toPrepare(10, isReady).map(({ value }) => value?.name)).toEqual(['a/1', 'b/1']);
  });

  test('takes a small change at once beside a large policy of the same namespace', () => {
    const desk = new Desk();
    desk.note(policy('a/large', LARGE));
    desk.commit(0, 100);
    desk.note(policy('a/small'), 100);
    desk.note(policy('a/large', LARGE, 1), 100);
    expect(ids(desk.commit(101))).toEqual(['a/small']);
  });
});

interface Step {
  readonly name: string;
  readonly weight: number | undefined;
  readonly afterMs: number;
}

const WEIGHTS = [2, 30, FAIRNESS.small - 3, LARGE, FAIRNESS.turn, 4 * FAIRNESS.turn];

const steps = fc.array(
  fc.record<Step>({
    name: fc
      .tuple(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('1', '2', '3'))
      .map(parts => parts.join('/')),
    weight: fc.option(fc.constantFrom(...WEIGHTS), { nil: undefined }),
    afterMs: fc.nat(50),
  }),
  { maxLength: 80 },
);

/** Lets the time pass as the loop would: each millisecond it commits what there is, which takes as long as it weighs. */
function play(all: readonly Step[], beyondMs = 20_000) {
  const desk = new Desk();
  const told = new Map<PolicyId, Policy>();
  const waits: { id: PolicyId; ms: number; isSmall: boolean }[] = [];
  const sinceMs = new Map<PolicyId, number>();
  let nowMs = 0;
  let freeAtMs = 0;
  const runUntil = (endMs: number) => {
    for (; nowMs < endMs; nowMs++) {
      const readyAtMs = desk.queue.waiting(nowMs)?.atMs;
      if (nowMs < freeAtMs || readyAtMs === undefined || readyAtMs > nowMs) continue;
      const weights = new Map([...desk.inForce].map(([id, value]) => [id, weightOf(value)]));
      const taken = desk.queue.takeShare(nowMs);
      const tookMs = Math.ceil(
        taken.reduce((sum, { id, value }) => sum + weightOf(value) + (weights.get(id) ?? 0), 0) / 50,
      );
      for (const { id, value } of taken) {
        if (desk.queue.isolating.has(id)) desk.inForce.set(id, value!);
        if (desk.queue.isolating.has(id)) continue;
        waits.push({
          id,
          ms: nowMs - sinceMs.get(id)!,
          isSmall: weightOf(value) + (weights.get(id) ?? 0) <= 60,
        });
        sinceMs.delete(id);
        if (value === undefined) desk.inForce.delete(id);
        else desk.inForce.set(id, value);
      }
      freeAtMs = nowMs + tookMs;
      desk.queue.took(tookMs, freeAtMs);
    }
  };
  for (const [n, { name, weight, afterMs }] of all.entries()) {
    runUntil(nowMs + afterMs);
    const id: PolicyId = `NetworkPolicy ${name}`;
    if (!sinceMs.has(id)) sinceMs.set(id, nowMs);
    if (weight === undefined) {
      told.delete(id);
      desk.remove(id, nowMs);
    } else {
      told.set(id, policy(name, weight, n));
      desk.note(told.get(id)!, nowMs);
    }
  }
  runUntil(nowMs + beyondMs);
  return { desk, told, waits };
}

describe('AdmissionQueue, whatever happens', () => {
  test('takes every change in the end, the latest version of each', () => {
    fc.assert(
      fc.property(steps, all => {
        const { desk, told } = play(all);
        expect(desk.queue.size).toBe(0);
        expect(desk.inForce).toEqual(told);
      }),
      { numRuns: 60 },
    );
  });

  test('lets nothing wait for longer than its turns take', () => {
    fc.assert(
      fc.property(steps, all => {
        // Three namespaces with three policies each, of which one alone takes 160 ms at most, and as long a pause.
        for (const { ms } of play(all).waits) expect(ms).toBeLessThanOrEqual(9 * 2 * 2 * 160);
      }),
      { numRuns: 60 },
    );
  });

  test('never lets a tenant with small policies wait for more than the batch under way', () => {
    fc.assert(
      fc.property(steps, fc.nat(80), (all, at) => {
        const neighbour: Step = { name: 'neighbour/deny', weight: 2, afterMs: 0 };
        const mixed = all.toSpliced(at, 0, neighbour);
        const waits = play(mixed).waits.filter(({ id }) => id === 'NetworkPolicy neighbour/deny');
        expect(waits).toHaveLength(1);
        expect(waits[0]!.ms).toBeLessThanOrEqual(Math.ceil((8 * FAIRNESS.turn + FAIRNESS.small * 6) / 50));
      }),
      { numRuns: runs(100) },
    );
  });
});
