import { expect, test } from 'vitest';
import { allowPort, changeOf, ingressPolicy } from '../../../../test/support/agent/tenants.ts';
import type { PolicyChange } from '../../../model/policychange.ts';
import { changesOfBatch, nextBatch } from './policypreparations.ts';

function change(name: string, rules = 1): PolicyChange {
  const value = ingressPolicy(
    `tenant/${name}`,
    Array.from({ length: rules }, (_, n) => allowPort(1000 + n)),
  );
  return changeOf(value);
}

const gone = (name: string): PolicyChange => ({ id: change(name).id, value: undefined });

test('the first ones that wait go together, as many as a flush takes in', () => {
  const waiting = [change('a', 300), gone('b'), change('c', 300), change('d', 300)];
  expect(changesOfBatch(nextBatch(waiting, undefined))).toEqual(waiting.slice(0, 2));
  const huge = [change('huge', 5_000), change('a')];
  expect(changesOfBatch(nextBatch(huge, undefined))).toEqual(huge.slice(0, 1));
});

test('others that come later, and go before them, wait for the next turn', () => {
  const waiting = [change('a'), gone('b')];
  const before = nextBatch(waiting, undefined);
  expect(nextBatch([change('c'), ...waiting], before)).toBe(before);
  expect(changesOfBatch(nextBatch([change('c')], before))).toMatchObject([{ id: 'NetworkPolicy tenant/c' }]);
});

test('a policy that is edited waits for the next batch, and the others stay', () => {
  const [a, b, c] = [change('a'), change('b'), change('c')];
  const before = nextBatch([a, b], undefined);
  const without = nextBatch([change('a', 2), b, c], before);
  expect(changesOfBatch(without)).toEqual([b]);
  for (let version = 3; version < 9; version++)
    expect(nextBatch([change('a', version), b, c], without)).toBe(without);
  expect(changesOfBatch(nextBatch([gone('b'), c], without))).toEqual([gone('b'), c]);
});
