/** The incremental engine beside `compile`, of the same events. */
import { compile } from '../../../src/compiler/compile.ts';
import { Incremental } from '../../../src/compiler/live/incremental.ts';
import type { Limits } from '../../../src/compiler/live/limits.ts';
import type { Leisure } from '../../../src/compiler/live/slack.ts';
import { type ClusterEvent, ClusterState } from '../../../src/model/cluster.ts';
import type { Ruleset } from '../../../src/nft/ruleset.ts';

export const NODE = 'n1';

/** Somebody waits for each flush, and none has a moment for anything else. */
export const AWAITED: Leisure = { isAwaited: () => true, moment: () => () => false };

/** It has noted them, and flushed nothing. */
export function engineOf(events: readonly ClusterEvent[], limits: Partial<Limits> = {}): Incremental {
  const engine = new Incremental(NODE, 'allow', 'others', undefined, limits);
  for (const event of events) engine.note(event);
  return engine;
}

export function flushedEngineOf(events: readonly ClusterEvent[], limits: Partial<Limits> = {}): Incremental {
  const engine = engineOf(events, limits);
  engine.flush();
  return engine;
}

export function compiled(events: readonly ClusterEvent[]): Ruleset {
  const state = new ClusterState();
  for (const event of events) state.apply(event);
  return compile(state, NODE);
}
