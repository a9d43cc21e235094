import { expect, test } from 'vitest';
import type { Problem } from '../../../model/problem.ts';
import { boundedProblems } from '../watch/clusterfeed.ts';

const problem = (namespace: string, n: number): Problem => ({
  severity: 'error',
  message: `${n}`,
  effect: 'nothing',
  about: { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', name: `p${n}`, namespace },
});
const some = (namespace: string, count: number) =>
  Array.from({ length: count }, (_, n) => problem(namespace, n));

test('what is wrong is told as it is, up to some thousands', () => {
  const problems = some('tenant', 2_000);
  expect(boundedProblems(problems)).toBe(problems);
});

test('beyond that a namespace with many problems hides none of one with few', () => {
  const few = some('neighbour', 3);
  const told = boundedProblems([...some('hostile', 5_000), ...few, ...some('other', 1_500)]);
  expect(told).toHaveLength(2_001);
  expect(few.every(each => told.includes(each))).toBe(true);
  expect(told.filter(({ about }) => about?.namespace === 'other').length).toBe(998);
  expect(told.at(-1)!.message).toBe('there are 4503 further problems');
});
