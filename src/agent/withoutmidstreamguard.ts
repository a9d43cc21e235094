/** An engine whose rules leave connections alone that the kernel does not know. */
import { withoutGuard } from '../compiler/midstreamguard.ts';
import { type Engine, withRules } from './engine.ts';

export function withoutMidStreamGuard(engine: Engine): Engine {
  return withRules(engine, withoutGuard);
}
