/** What it takes to name denied packets, beside `sample`, whose chain `rules` it adds to. */
import { addressType, limitOver, loadSource, logTo, update, verdict } from '../match.ts';
import type { Op } from '../plan/op.ts';
import type { Expr, Family, SetSpec } from '../ruleset.ts';

export function sampleOfDenials(family: Family): Op[] {
  const sources: SetSpec = {
    name: 'denied',
    key: [addressType(family)],
    verdicts: false,
    interval: false,
    dynamic: { size: 256, timeoutMs: 10_000 },
    comment: 'sample',
  };
  return [
    { op: 'addSet', family, set: sources, size: 256 },
    ...rules(family).map(
      (exprs): Op => ({ op: 'addRule', family, chain: 'rules', rule: { exprs, comment: 'sample' } }),
    ),
  ];
}

function rules(family: Family): Expr[][] {
  const rate = { perSecond: 5, burst: 10 };
  return [
    [loadSource(family), update('denied', { over: rate }), verdict('drop')],
    [limitOver(rate), verdict('drop')],
    [logTo({ group: 1, prefix: 'sample', snaplen: 128 }), verdict('drop')],
  ];
}
