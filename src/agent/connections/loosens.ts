/** Whether rules that changed allow at least what they allowed before. Where that is not sure, the answer is no. */
import { isDenial } from '../../compiler/denied.ts';
import { INGRESS_CHAIN } from '../../compiler/program.ts';
import type { ElementValue, NftRule, NftVerdict, Table } from '../../nft/ruleset.ts';

/** Whether rules became others only by rules that allow and came, and rules that deny and went. */
export function loosens(before: readonly NftRule[], after: readonly NftRule[]): boolean {
  let next = 0;
  for (const rule of after) {
    while (next < before.length && !sameRule(before[next]!, rule) && denies(before[next]!)) next++;
    if (next < before.length && sameRule(before[next]!, rule)) next++;
    else if (!allows(verdictOf(rule))) return false;
  }
  return before.slice(next).every(denies);
}

/** Whether what a key of a verdict map leads to allows at least what it did. */
export function loosensAt(
  was: ElementValue | undefined,
  is: ElementValue | undefined,
  before: Table,
  after: Table,
): boolean {
  if (isDenial(was?.verdict) || allows(is?.verdict)) return true;
  const [rulesBefore, rulesAfter] = [jumpedTo(was?.verdict, before), jumpedTo(is?.verdict, after)];
  return rulesBefore !== undefined && rulesAfter !== undefined && loosens(rulesBefore, rulesAfter);
}

/** The verdict at the end of a rule; none where it looks one up. */
export function verdictOf({ exprs }: NftRule): NftVerdict | undefined {
  const last = exprs.at(-1);
  return last?.kind === 'verdict' ? last.verdict : undefined;
}

export function allows(verdict: NftVerdict | undefined): boolean {
  return verdict?.kind === 'accept' || (verdict?.kind === 'goto' && verdict.chain === INGRESS_CHAIN);
}

function denies(rule: NftRule): boolean {
  return isDenial(verdictOf(rule));
}

function sameRule(a: NftRule, b: NftRule): boolean {
  return a === b || JSON.stringify(a.exprs) === JSON.stringify(b.exprs);
}

/** No verdict is a jump to nothing: the packet goes on either way. */
function jumpedTo(verdict: NftVerdict | undefined, table: Table): readonly NftRule[] | undefined {
  if (verdict === undefined) return [];
  return verdict.kind === 'jump' ? table.chains.get(verdict.chain)?.rules : undefined;
}
