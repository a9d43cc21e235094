/** What the rules of an inspection have matched. */
import { countedRule, countKey } from '../compiler/countedrule.ts';
import type { Direction } from '../model/policy.ts';
import type { RuleCount } from '../nft/rulecount.ts';
import type { Inspection, PodInspection } from './inspection.ts';

/** The inspection with what each of its rules has matched, on all pods of the node that have it. */
export function withCounts(inspection: Inspection, counts: readonly RuleCount[]): Inspection {
  const sums = new Map<string, number>();
  for (const count of counts) {
    const rule = countedRule(count);
    if (rule !== undefined) sums.set(countKey(rule), (sums.get(countKey(rule)) ?? 0) + count.packets);
  }
  return { ...inspection, pods: inspection.pods.map(pod => podCounts(pod, sums)) };
}

function podCounts(pod: PodInspection, sums: ReadonlyMap<string, number>): PodInspection {
  const of = (direction: Direction) => {
    const inspected = pod[direction];
    return (
      inspected && {
        ...inspected,
        rules: inspected.rules.map(rule => {
          const { verdict: action, source = '' } = rule;
          const matched = sums.get(countKey({ direction, action, source }));
          return matched === undefined ? rule : { ...rule, matched };
        }),
      }
    );
  };
  const [ingress, egress] = [of('ingress'), of('egress')];
  return { ...pod, ...(ingress && { ingress }), ...(egress && { egress }) };
}
