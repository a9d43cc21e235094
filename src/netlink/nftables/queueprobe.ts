/** Whether packets can wait for us here: what to try it with. */
import { FAMILIES } from '../../model/address.ts';
import { answers, askedPort, queueTo } from '../../nft/matchanswers.ts';
import { noRouteBack } from '../../nft/matchinterface.ts';
import { type Family, type QueueBy, TABLE_NAME } from '../../nft/ruleset.ts';
import { NLM_F } from '../wire/constants.ts';
import type { Batch } from './batch.ts';
import { CHAIN, MSG, RULE, TABLE } from './constants.ts';
import { writeExpr } from './expressions.ts';

const PROBE = `${TABLE_NAME}-probe`;

/** Rules by which packets wait, of both families. */
export function writeQueueRules(batch: Batch, by: QueueBy): void {
  for (const family of FAMILIES) writeRule(batch, family, by);
}

/** With what else it takes to know an answer. */
function writeRule(batch: Batch, family: Family, by: QueueBy): void {
  batch.message(MSG.NEWTABLE, NLM_F.CREATE, family, to => to.string(TABLE.NAME, PROBE));
  batch.message(MSG.NEWCHAIN, NLM_F.CREATE, family, to => {
    to.string(CHAIN.TABLE, PROBE);
    to.string(CHAIN.NAME, 'rules');
  });
  batch.message(MSG.NEWRULE, NLM_F.CREATE | NLM_F.APPEND, family, to => {
    to.string(RULE.TABLE, PROBE);
    to.string(RULE.CHAIN, 'rules');
    to.nest(RULE.EXPRESSIONS, () => {
      for (const expr of [...noRouteBack(), ...answers(), ...askedPort(53), ...queueTo(53, by)])
        writeExpr(to, expr);
    });
  });
}
