/** A rule in a table that does not exist, of both families: to see whether this kernel takes what it is made of. */
import { FAMILIES } from '../../../model/address.ts';
import { type Expr, TABLE_NAME } from '../../../nft/ruleset.ts';
import { NLM_F } from '../wire/constants.ts';
import type { Batch } from './batch.ts';
import { CHAIN, MSG, RULE, TABLE } from './constants.ts';
import { writeExpr } from './expressions.ts';

/** `what` tells one try from another in the same batch. */
export function writeProbeRules(batch: Batch, what: string, exprs: readonly Expr[]): void {
  const table = `${TABLE_NAME}-probe-${what}`;
  for (const family of FAMILIES) {
    batch.message(MSG.NEWTABLE, NLM_F.CREATE, family, to => to.string(TABLE.NAME, table));
    batch.message(MSG.NEWCHAIN, NLM_F.CREATE, family, to => {
      to.string(CHAIN.TABLE, table);
      to.string(CHAIN.NAME, 'rules');
    });
    batch.message(MSG.NEWRULE, NLM_F.CREATE | NLM_F.APPEND, family, to => {
      to.string(RULE.TABLE, table);
      to.string(RULE.CHAIN, 'rules');
      to.nest(RULE.EXPRESSIONS, () => {
        for (const expr of exprs) writeExpr(to, expr);
      });
    });
  }
}
