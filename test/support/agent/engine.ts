/** The incremental engine beside `compile`, of the same events. */
import { compile } from '../../../src/compiler/compile.ts';
import { Incremental } from '../../../src/compiler/live/incremental.ts';
import type { MemberRoom } from '../../../src/compiler/live/memberroom.ts';
import type { PodPatience } from '../../../src/compiler/live/podpreparations.ts';
import { type ClusterEvent, ClusterState } from '../../../src/model/cluster.ts';
import type { Ruleset } from '../../../src/nft/ruleset.ts';

export const NODE = 'n1';

export interface Limits {
  readonly room?: MemberRoom;
  readonly patience?: PodPatience;
}

/** It has noted them, and flushed nothing. */
export function engineOf(
  events: readonly ClusterEvent[],
  mostAsked?: number,
  { room, patience }: Limits = {},
): Incremental {
  const engine = new Incremental(NODE, 'allow', 'others', undefined, mostAsked, room, patience);
  for (const event of events) engine.note(event);
  return engine;
}

export function flushedEngineOf(
  events: readonly ClusterEvent[],
  mostAsked?: number,
  limits: Limits = {},
): Incremental {
  const engine = engineOf(events, mostAsked, limits);
  engine.flush();
  return engine;
}

export function compiled(events: readonly ClusterEvent[]): Ruleset {
  const state = new ClusterState();
  for (const event of events) state.apply(event);
  return compile(state, NODE);
}
