/** What a rule that counts is in the words of policies: of which policy rule, in which direction, and what it does. */
import type { Direction } from '../model/policy.ts';
import type { RuleCount } from '../nft/rulecount.ts';
import type { NftVerdict } from '../nft/ruleset.ts';
import { isDenial } from './denied.ts';
import { INGRESS_CHAIN } from './program.ts';
import { isCounted } from './rulecounters.ts';

type CountedAction = 'accept' | 'drop' | 'pass';

/** Rules of the same policies that do the same: the kernel has them several times, by family, port and class. */
export interface CountedRule {
  readonly direction: Direction;
  readonly action: CountedAction;
  /** As the kernel's comments have it: `shop/web ingress[0]`; empty where no policy decided. */
  readonly source: string;
}

/** What is counted, where the rule is one of policy's. */
export function countedRule({ chain, comment, verdict }: RuleCount): CountedRule | undefined {
  const direction = isCounted(chain) ? directionOf(chain, comment, verdict) : undefined;
  return direction && { direction, action: actionOf(verdict), source: comment };
}

export function countKey({ direction, action, source }: CountedRule): string {
  return `${direction} ${action} ${source}`;
}

const PREFIXES: Readonly<Record<string, Direction>> = {
  in: 'ingress',
  from: 'ingress',
  eg: 'egress',
  to: 'egress',
};

/** A chain that counts for the elements of a map is of both directions: its rule says which it is about. */
function directionOf(chain: string, comment: string, verdict: NftVerdict): Direction | undefined {
  const known = PREFIXES[chain.slice(0, chain.indexOf('-'))];
  if (known !== undefined) return known;
  if (verdict.kind === 'accept') return 'ingress';
  return /^\S+ ingress\[/.test(comment) ? 'ingress' : 'egress';
}

/** Egress that is allowed goes on to `ingress`; what goes on elsewhere is for the next tier. */
function actionOf(verdict: NftVerdict): CountedAction {
  if (isDenial(verdict)) return 'drop';
  return verdict.kind === 'goto' && verdict.chain !== INGRESS_CHAIN ? 'pass' : 'accept';
}
