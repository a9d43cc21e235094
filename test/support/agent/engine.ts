/** The incremental engine, and functions that pass it events. */
import { Incremental } from '../../../src/compiler/live/incremental.ts';
import type { Limits } from '../../../src/compiler/live/limits.ts';
import { type TimeBudget, UNLIMITED_TIME } from '../../../src/compiler/live/workbudget.ts';
import { wholeOf } from '../../../src/lib/collections/pieces.ts';
import type { ClusterEvent } from '../../../src/model/cluster.ts';
import type { PolicyChange } from '../../../src/model/policychange.ts';
import type { Ruleset } from '../../../src/nft/ruleset.ts';
import { PLAIN } from '../arbitrary/enforced.ts';

export const NODE = 'n1';

/** A time budget in which a caller waits for each flush, so that no time is left for other work. */
export const AWAITED: TimeBudget = { hasWaitingEvents: () => true, moment: () => () => false };

/** An engine to which the events were applied, without a flush. */
export function engineOf(
  events: readonly ClusterEvent[],
  limits: Partial<Limits> = {},
  { unknownPods, podLinks, dnsQueue } = PLAIN,
): Incremental {
  const engine = new Incremental(NODE, unknownPods, podLinks, dnsQueue, limits);
  for (const event of events) engine.apply(event);
  return engine;
}

export function flushedEngineOf(events: readonly ClusterEvent[], limits: Partial<Limits> = {}): Incremental {
  const engine = engineOf(events, limits);
  engine.flush();
  return engine;
}

const MOST_FLUSHES = 1000;

/** Flushes until all of it is ready; answers what each flush made. */
export function readying(
  engine: Incremental,
  changes: readonly PolicyChange[],
  timeBudget = UNLIMITED_TIME,
): Ruleset[] {
  const flushed: Ruleset[] = [];
  while (!changes.every(change => engine.isPrepared(change))) {
    engine.prepare(changes);
    flushed.push(wholeOf(engine.flushInPieces(timeBudget)));
    if (flushed.length > MOST_FLUSHES) throw new Error('it is never ready');
  }
  return flushed;
}
