import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseCidr } from './address.ts';
import { type ClusterEvent, ClusterState } from './cluster.ts';
import { NamespaceBudget } from './namespacebudget.ts';
import type { Policy, PolicyId } from './policy.ts';
import { problemText } from './problem.ts';

const MOST = { policies: 4, entries: 20, selectors: 3 };

/** A policy with cost `size`: one for itself, one for its rule, and one for each network. */
function policy(name: string, size: number): Policy {
  const peers = Array.from({ length: size - 2 }, () => ({
    kind: 'network' as const,
    cidr: parseCidr('10.0.0.0/8')!,
    except: [],
  }));
  const id: PolicyId = `NetworkPolicy ${name}`;
  const subject = { namespaces: { kind: 'name' as const, name: 'shop' }, pods: { requirements: [] } };
  const rule = { path: 'egress[0]', action: 'accept' as const, ports: 'any' as const };
  return {
    id,
    kind: 'NetworkPolicy',
    name,
    tier: 'networkpolicy',
    order: 0,
    subject,
    egress: [{ ...rule, peers }],
  };
}

const put = (value: Policy): ClusterEvent => ({ type: 'policy', key: value.id, value });
const gone = (name: string): ClusterEvent => ({ type: 'policy', key: `NetworkPolicy ${name}` });

/** For each event the policy's name and how many rules it has; `-` for a policy without rules. */
const shown = (events: readonly ClusterEvent[]) =>
  events.map(({ key, value }) => `${key} ${(value as Policy | undefined)?.egress?.length ?? '-'}`);

describe('NamespaceBudget', () => {
  test('gives audited policies no room, and takes none from others for them', () => {
    const budget = new NamespaceBudget(MOST);
    const audited: Policy = { ...policy('shop/a', 19), audited: true };
    expect(shown(budget.pass([put(audited), put(policy('shop/b', 19))]))).toEqual([
      'NetworkPolicy shop/a 1',
      'NetworkPolicy shop/b 1',
    ]);
    expect(shown(budget.pass([put(policy('shop/a', 19))]))).toEqual([
      'NetworkPolicy shop/a 1',
      'NetworkPolicy shop/b 0',
    ]);
    expect(shown(budget.pass([put(audited)]))).toEqual(['NetworkPolicy shop/a 1', 'NetworkPolicy shop/b 1']);
    expect(budget.problems()).toEqual([]);
  });

  test('refuses what has no room behind the names before it, and gives its rules back when there is', () => {
    const budget = new NamespaceBudget(MOST);
    expect(shown(budget.pass([put(policy('shop/b', 10)), put(policy('shop/c', 10))]))).toEqual([
      'NetworkPolicy shop/b 1',
      'NetworkPolicy shop/c 1',
    ]);
    expect(budget.problems()).toEqual([]);
    expect(shown(budget.pass([put(policy('shop/a', 4))]))).toEqual([
      'NetworkPolicy shop/a 1',
      'NetworkPolicy shop/c 0',
    ]);
    expect(budget.problems().map(problemText)).toEqual([
      'NetworkPolicy shop/c: is too much for its namespace, which may have 4 policies, with 20 entries and 3 selectors of pods together: those whose names come first leave less than this one needs, with 10 entries and 0 selectors; the policy isolates its pods and allows nothing until they are fewer',
    ]);
    expect(shown(budget.pass([gone('shop/b')]))).toEqual([
      'NetworkPolicy shop/b -',
      'NetworkPolicy shop/c 1',
    ]);
    expect(budget.problems()).toEqual([]);
  });

  test('counts a selector once, however many policies name it', () => {
    const budget = new NamespaceBudget(MOST);
    const naming = (name: string, ...apps: readonly string[]): Policy => {
      const selectors = apps.map(app => ({
        namespaces: { kind: 'name' as const, name: 'shop' },
        pods: { requirements: [{ key: 'app', operator: 'In' as const, values: [app] }] },
      }));
      const peers = selectors.map(selector => ({ kind: 'pods' as const, selector }));
      return { ...policy(name, 2), egress: [{ path: 'egress[0]', action: 'accept', ports: 'any', peers }] };
    };
    const events = [put(naming('shop/a', 'x', 'y')), put(naming('shop/b', 'y', 'z'))];
    expect(shown(budget.pass(events))).toEqual(['NetworkPolicy shop/a 1', 'NetworkPolicy shop/b 1']);
    expect(shown(budget.pass([put(naming('shop/c', 'w'))]))).toEqual(['NetworkPolicy shop/c 0']);
    expect(shown(budget.pass([put(naming('shop/a', 'y'))]))).toEqual([
      'NetworkPolicy shop/a 1',
      'NetworkPolicy shop/c 1',
    ]);
  });

  test('has room for so many policies, however small they are', () => {
    const budget = new NamespaceBudget(MOST);
    const events = ['a', 'b', 'c', 'd', 'e'].map(name => put(policy(`shop/${name}`, 2)));
    expect(shown(budget.pass(events)).at(-1)).toBe('NetworkPolicy shop/e 0');
    expect(shown(budget.pass([gone('shop/a')]))).toContain('NetworkPolicy shop/e 1');
  });

  test('asks nothing of another namespace, or of policies of the cluster', () => {
    const budget = new NamespaceBudget(MOST);
    const admin: Policy = { ...policy('x', 50), id: 'ClusterNetworkPolicy x', kind: 'ClusterNetworkPolicy' };
    const events = [put(policy('shop/a', 19)), put(policy('bank/a', 19)), put(admin)];
    expect(budget.pass(events)).toEqual(events);
  });

  test('an edit among ten thousand reads no other policy, and reports no problem of the others again', () => {
    const budget = new NamespaceBudget({ policies: 10_000, entries: 25_000, selectors: 1_000 });
    let reads = 0;
    const watched = (value: Policy) => {
      const get = () => {
        reads++;
        return value.egress;
      };
      return Object.defineProperty({ ...value }, 'egress', { get, enumerable: true });
    };
    const name = (n: number) => `shop/p${String(n).padStart(5, '0')}`;
    budget.pass(Array.from({ length: 10_000 }, (_, n) => put(watched(policy(name(n), 4)))));
    const before = budget.problems();
    expect(before).toHaveLength(201);
    expect(before.at(-1)!.message).toBe('3550 further policies of namespace shop are too much for it, too');
    reads = 0;
    // The room for 6,250 policies is used up. The last policy loses its rules to the one that grows, and gets them
    // back.
    expect(shown(budget.pass([put(policy(name(7), 5))]))).toEqual([
      `NetworkPolicy ${name(7)} 1`,
      `NetworkPolicy ${name(6249)} 0`,
    ]);
    expect(reads).toBeLessThan(10);
    expect(shown(budget.pass([put(policy(name(7), 4))]))).toEqual([
      `NetworkPolicy ${name(7)} 1`,
      `NetworkPolicy ${name(6249)} 1`,
    ]);
    budget.pass([put(policy(name(9_000), 5))]);
    expect(budget.problems().slice(0, 150)).toEqual(before.slice(0, 150));
    const told = budget.problems();
    budget.pass([put(policy(name(8), 3))]);
    expect(budget.problems()).toBe(told);
  });

  test('leaves the same policies in force whatever the order in which they came', () => {
    const step = fc.record({
      name: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
      size: fc.integer({ min: 1, max: 12 }),
    });
    fc.assert(
      fc.property(fc.array(fc.array(step, { maxLength: 4 }), { maxLength: 8 }), batches => {
        const budget = new NamespaceBudget(MOST);
        const [state, last] = [new ClusterState(), new Map<string, ClusterEvent>()];
        for (const batch of batches) {
          // No policy has size 1: it stands for a deleted policy.
          const events = batch.map(({ name, size }) =>
            size === 1 ? gone(`shop/${name}`) : put(policy(`shop/${name}`, size)),
          );
          for (const event of events) last.set(event.key, event);
          for (const event of budget.pass(events)) state.apply(event);
        }
        const atOnce = new ClusterState();
        const another = new NamespaceBudget(MOST);
        for (const event of another.pass([...last.values()].reverse())) atOnce.apply(event);
        const rules = ({ policies }: ClusterState) =>
          [...policies].map(([id, { egress }]) => `${id} ${egress!.length}`).sort();
        expect(rules(state)).toEqual(rules(atOnce));
        expect(
          budget
            .problems()
            .map(({ object }) => object)
            .sort(),
        ).toEqual(
          another
            .problems()
            .map(({ object }) => object)
            .sort(),
        );
      }),
    );
  });
});
