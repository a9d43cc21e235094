/** Whether packets can be handed over here, under a limit: what to try it with. */
import { limitOver, logTo } from '../../nft/match.ts';
import type { Batch } from './batch.ts';
import { writeProbeRules } from './proberule.ts';

export function writeLogRules(batch: Batch): void {
  writeProbeRules(batch, 'log', [
    limitOver({ perSecond: 5, burst: 10 }),
    logTo({ group: 1, prefix: 'sample', snaplen: 128 }),
  ]);
}
