/** An engine whose rules hand over what they deny, within limits. */
import { type DenialLimits, withDenialLimits } from '../compiler/denied.ts';
import { type Engine, withRules } from './engine.ts';

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
  const limited = withRules(engine, ruleset =>
    limits === undefined ? ruleset : withDenialLimits(ruleset, limits),
  );
  return {
    ...limited,
    note: event => {
      follower.note(event);
      limited.note(event);
    },
    *flushing(leisure) {
      const ruleset = yield* limited.flushing(leisure);
      follower.flushed();
      return ruleset;
    },
  };
}
