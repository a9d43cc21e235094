/** Changes of namespaces in which each of them makes much anew, however small it is. */
import { expect, test } from 'vitest';
import { allowPort, ingressPolicy } from '../../../test/support/agent/tenants.ts';
import type { PolicyChange } from '../../model/policychange.ts';
import { FAIRNESS } from './limits.ts';
import { AdmissionQueue, NO_ESTIMATE } from './queue.ts';

const NOBODY_READY = () => false;

function edit(name: `${string}/${string}`, rules = 1): PolicyChange {
  const ports = Array.from({ length: rules }, (_, n) => allowPort(1000 + n));
  const value = ingressPolicy(name, ports);
  return { id: value.id, value };
}

/**
 * A queue in which namespaces become crowded when policies are taken in; when a change is enqueued, that is not known
 * yet.
 */
function queueOf(changes: readonly PolicyChange[], crowded: Set<string>): AdmissionQueue {
  const queue = new AdmissionQueue({ ...NO_ESTIMATE, isOversized: namespace => crowded.has(namespace) });
  for (const [n, change] of changes.entries()) queue.enqueue(change, ingressPolicy('a/before', []), n);
  return queue;
}

test('a small change waits until it is ready where its namespace has become crowded, and others go', () => {
  const [small, other] = [edit('a/small'), edit('b/small')];
  const crowded = new Set<string>();
  const queue = queueOf([small, other], crowded);
  crowded.add('a');
  expect(queue.takeShare(0, NOBODY_READY)).toEqual([other]);
  expect(queue.takeShare(FAIRNESS.unreadyMs + 1, NOBODY_READY)).toEqual([]);
  expect(queue.takeShare(FAIRNESS.unreadyMs + 2, () => true)).toEqual([small]);
});

test('those of a crowded namespace that are ready go in one batch, however much they weigh', () => {
  const changes = [1, 2, 3, 4, 5].map(n => edit(`a/${n}`, FAIRNESS.turn / 2));
  const isReady = ({ id }: PolicyChange) => id !== changes[0]!.id;
  const queue = queueOf(changes, new Set(['a']));
  expect(queue.takeShare(9, isReady)).toEqual(changes.slice(1));
  expect(queueOf(changes, new Set()).takeShare(9, isReady)).toHaveLength(1);
});

test('all that wait of a crowded namespace may be made ready, the first ones first; of another one the next', () => {
  const changes = [edit('a/1'), edit('b/1', FAIRNESS.small), edit('a/2'), edit('b/2', FAIRNESS.small)];
  const queue = queueOf(changes, new Set(['a']));
  expect(queue.toPrepare(9, NOBODY_READY)).toEqual([changes[0], changes[2], changes[1]]);
});
