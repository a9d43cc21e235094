/** Whether packets can wait for us here, and by which expression. Changes nothing. */
import { FAMILIES } from '../../model/address.ts';
import { answers, askedPort, queueTo } from '../../nft/matchanswers.ts';
import { noRouteBack } from '../../nft/matchinterface.ts';
import { type Family, QUEUE_FORMS, type QueueBy, TABLE_NAME } from '../../nft/ruleset.ts';
import { NLM_F } from '../wire/constants.ts';
import { Batch } from './batch.ts';
import { CHAIN, MSG, RULE, TABLE } from './constants.ts';
import type { Exchange } from './exchange.ts';
import { writeExpr } from './expressions.ts';

const PROBE = `${TABLE_NAME}-probe`;

/** The first form that this kernel takes, nf_tables' own before the other; undefined where it takes none. */
export function findQueue(exchange: Pick<Exchange, 'nextSequence' | 'commitSync'>): QueueBy | undefined {
  return QUEUE_FORMS.find(by => takes(exchange, by));
}

/** A batch without an end is rolled back, but what is wrong with it is reported. */
function takes(exchange: Pick<Exchange, 'nextSequence' | 'commitSync'>, by: QueueBy): boolean {
  const batch = new Batch();
  batch.begin(exchange.nextSequence, 0);
  for (const family of FAMILIES) writeRule(batch, family, by);
  return exchange.commitSync(batch).errors.length === 0;
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
