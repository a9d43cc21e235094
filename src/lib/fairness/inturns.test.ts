import fc from 'fast-check';
import { expect, test } from 'vitest';
import { namespaceOfPolicy, type PolicyId } from '../../model/policy.ts';
import { InTurns } from './inturns.ts';

/** The same names, computed anew from all that are there. */
function firstOf(ids: ReadonlySet<PolicyId>, most: number): PolicyId[] {
  const sorted = [...ids].sort();
  const turnOf = (id: PolicyId) =>
    sorted.filter(each => namespaceOfPolicy(each) === namespaceOfPolicy(id) && each < id).length;
  return sorted.sort((a, b) => turnOf(a) - turnOf(b) || (a < b ? -1 : 1)).slice(0, most);
}

const id = fc.oneof(
  fc
    .tuple(fc.constantFrom('a', 'b', 'c'), fc.nat(12))
    .map(([namespace, n]): PolicyId => `NetworkPolicy ${namespace}/p${n}`),
  fc.nat(5).map((n): PolicyId => `ClusterNetworkPolicy c${n}`),
);
const step = fc.record({ id, isThere: fc.boolean() });

test('InTurns knows the first of each namespace, then the second of each, whatever comes and goes', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 6 }), fc.array(step, { maxLength: 60 }), (most, steps) => {
      const inTurns = new InTurns(most, namespaceOfPolicy);
      const there = new Set<PolicyId>();
      for (const { id, isThere } of steps) {
        if (isThere) there.add(id);
        else there.delete(id);
        if (isThere) inTurns.add(id);
        else inTurns.delete(id);
        expect(inTurns.first).toEqual(firstOf(there, most));
      }
    }),
  );
});
