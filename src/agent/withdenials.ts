/** An engine whose rules hand over what they deny, within limits. */
import { type DenialLimits, withDenialLimits } from '../compiler/denied.ts';
import type { Engine } from './engine.ts';

/** Hears of every event before the engine, and of every state that the engine has made. */
export interface EngineFollower extends Pick<Engine, 'note'> {
  flushed(): void;
}

export function withDenials(engine: Engine, limits: DenialLimits, follower: EngineFollower): Engine {
  return {
    cluster: engine.cluster,
    note: event => {
      follower.note(event);
      engine.note(event);
    },
    policiesBehind: op => engine.policiesBehind(op),
    *flushing() {
      const ruleset = yield* engine.flushing();
      follower.flushed();
      return withDenialLimits(ruleset, limits);
    },
  };
}
