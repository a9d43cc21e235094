/** An engine whose rules leave connections alone that the kernel does not know. */
import { withoutGuard } from '../compiler/midstreamguard.ts';
import { type Engine, sameForSame } from './engine.ts';

export function withoutMidStreamGuard(engine: Engine): Engine {
  const withoutIt = sameForSame(withoutGuard);
  return {
    cluster: engine.cluster,
    note: event => engine.note(event),
    policiesBehind: op => engine.policiesBehind(op),
    *flushing() {
      return withoutIt(yield* engine.flushing());
    },
  };
}
