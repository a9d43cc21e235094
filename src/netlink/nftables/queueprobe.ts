/** Whether packets can wait for us here: what to try it with. */
import { answers, askedPort, queueTo } from '../../nft/matchanswers.ts';
import { noRouteBack } from '../../nft/matchinterface.ts';
import type { QueueBy } from '../../nft/ruleset.ts';
import type { Batch } from './batch.ts';
import { writeProbeRules } from './proberule.ts';

/** Rules by which packets wait, of both families, with what else it takes to know an answer. */
export function writeQueueRules(batch: Batch, by: QueueBy): void {
  writeProbeRules(batch, 'queue', [...noRouteBack(), ...answers(), ...askedPort(53), ...queueTo(53, by)]);
}
