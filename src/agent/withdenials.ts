/** An engine whose rules hand over what they deny, within limits. */
import { type DenialLimits, withDenialLimits } from '../compiler/denied.ts';
import type { Ruleset } from '../nft/ruleset.ts';
import { type Engine, sameForSame } from './engine.ts';

/** Hears of every event before the engine, and of every state that the engine has made. */
export interface EngineFollower extends Pick<Engine, 'note'> {
  flushed(): void;
}

/** Without limits nothing is handed over. */
export function withDenials(
  engine: Engine,
  limits: DenialLimits | undefined,
  follower: EngineFollower,
): Engine {
  const limited = sameForSame((ruleset: Ruleset) =>
    limits === undefined ? ruleset : withDenialLimits(ruleset, limits),
  );
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
      return limited(ruleset);
    },
  };
}
