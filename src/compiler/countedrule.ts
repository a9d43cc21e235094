/**
 * Translates a counter of a kernel rule back to policy: which policy rule it belongs to, in which direction, and what
 * the rule does.
 */
import type { Direction } from '../model/policy.ts';
import type { RuleCount } from '../nft/rulecount.ts';
import type { NftVerdict } from '../nft/ruleset.ts';
import { isDenial } from './denied.ts';
import { INGRESS_CHAIN } from './program.ts';
import { isCounted } from './rulecounters.ts';

type CountedAction = 'accept' | 'drop' | 'pass';

/**
 * Kernel rules of the same policy rules with the same action count as one: there is one for each family, port and
 * class.
 */
export interface CountedRule {
  readonly direction: Direction;
  readonly action: CountedAction;
  /** The source as the comment of the kernel's rule has it: `shop/web ingress[0]`; empty if no policy decided. */
  readonly source: string;
}

/** The policy rule that a kernel rule counts for; undefined if it is not a rule of policy. */
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

/** Chains that count for the elements of a map serve both directions: the comment of the rule says which one. */
function directionOf(chain: string, comment: string, verdict: NftVerdict): Direction | undefined {
  const known = PREFIXES[chain.slice(0, chain.indexOf('-'))];
  if (known !== undefined) return known;
  if (verdict.kind === 'accept') return 'ingress';
  return /^\S+ ingress\[/.test(comment) ? 'ingress' : 'egress';
}

/** Egress that is allowed goes on to `ingress`; a goto to another chain passes to the next tier. */
function actionOf(verdict: NftVerdict): CountedAction {
  if (isDenial(verdict)) return 'drop';
  return verdict.kind === 'goto' && verdict.chain !== INGRESS_CHAIN ? 'pass' : 'accept';
}
