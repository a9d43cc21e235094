import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { namespaceOfPod, type PodKey } from '../../model/cluster.ts';
import { MOST_WAITING_OF_POD, Turns } from './turns.ts';
import { WorkBudget } from './workbudget.ts';

const item = (name: string, size = 100) => ({ name, size });

describe('Turns', () => {
  it('serves one of each namespace and of each pod in turn, and a pod in the order of its own', () => {
    const turns = new Turns<PodKey, ReturnType<typeof item>>(namespaceOfPod);
    for (let i = 0; i < 4; i++) turns.put('evil/a', item(`a${i}`));
    for (let i = 0; i < 2; i++) turns.put('evil/b', item(`b${i}`));
    turns.put('shop/web', item('web'));
    const served = Array.from({ length: 8 }, () => turns.next()?.item.name);
    expect(served).toEqual(['a0', 'web', 'b0', 'a1', 'b1', 'a2', 'a3', undefined]);
    expect(turns.isEmpty).toBe(true);
  });

  it('has room for so many packets of a pod, and so many bytes', () => {
    const turns = new Turns<PodKey, ReturnType<typeof item>>(namespaceOfPod);
    const { packets, bytes } = MOST_WAITING_OF_POD;
    for (let i = 0; i < packets; i++) expect(turns.put('evil/a', item('small', 1))).toBe(true);
    expect(turns.put('evil/a', item('small', 1))).toBe(false);
    for (let i = 0; i < bytes >> 16; i++) expect(turns.put('evil/b', item('large', 1 << 16))).toBe(true);
    expect(turns.put('evil/b', item('large', 1))).toBe(false);
    expect(turns.put('shop/web', item('web'))).toBe(true);
  });

  it('loses nothing, and an answer waits for no more than one of each other pod', () => {
    const key = fc.constantFrom<PodKey>('a/1', 'a/2', 'a/3', 'b/1', 'c/1');
    fc.assert(
      fc.property(fc.array(fc.option(key), { maxLength: 60 }), steps => {
        const turns = new Turns<PodKey, { size: number; at: number; pod: PodKey }>(namespaceOfPod);
        const waiting = new Map<PodKey, number[]>();
        const between = new Map<PodKey, number>();
        steps.forEach((pod, at) => {
          if (pod !== null) {
            turns.put(pod, { size: 1, at, pod });
            waiting.set(pod, [...(waiting.get(pod) ?? []), at]);
            return;
          }
          const next = turns.next();
          expect(next === undefined).toBe([...waiting.values()].flat().length === 0);
          if (next === undefined) return;
          expect(next.item.at).toBe(waiting.get(next.pod)!.shift());
          between.delete(next.pod);
          for (const [other, items] of waiting)
            if (items.length > 0 && other !== next.pod) {
              between.set(other, (between.get(other) ?? 0) + 1);
              expect(between.get(other)).toBeLessThanOrEqual(9);
            }
        });
      }),
    );
  });
});

describe('WorkBudget', () => {
  const RATES = { pod: { perSecond: 100, burst: 200 }, namespace: { perSecond: 150, burst: 300 } };

  it('lets a pod have its burst, and then its rate', () => {
    const budget = new WorkBudget(namespaceOfPod, RATES);
    budget.spend('evil/a', 250, 0);
    expect(budget.allows('evil/a', 0)).toBe(false);
    expect(budget.allows('evil/a', 499)).toBe(false);
    expect(budget.allows('evil/a', 510)).toBe(true);
  });

  it('lets the pods of a namespace have its own together, and takes nothing from another', () => {
    const budget = new WorkBudget(namespaceOfPod, RATES);
    for (const pod of ['evil/a', 'evil/b', 'evil/c'] as const) budget.spend(pod, 101, 0);
    expect(budget.allows('evil/a', 0)).toBe(false);
    expect(budget.allows('shop/web', 0)).toBe(true);
  });

  it('forgets those who are gone, and not what the others have spent', () => {
    const budget = new WorkBudget(namespaceOfPod, RATES);
    budget.spend('evil/a', 250, 0);
    budget.spend('gone/a', 250, 0);
    budget.retainOnly(new Set(['evil/a']));
    expect([budget.allows('evil/a', 0), budget.allows('gone/a', 0)]).toEqual([false, true]);
  });
});
