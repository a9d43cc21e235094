/** What the rules of an inspection have matched. */
import { countedRule, countKey } from '../../compiler/countedrule.ts';
import type { Direction } from '../../model/policy.ts';
import type { RuleCount } from '../../nft/rulecount.ts';
import type { Inspection, PodInspection, RuleInspection } from './inspection.ts';

type Matched = Required<Pick<RuleInspection, 'matched'>> & Pick<RuleInspection, 'lastMatchedMsAgo'>;

/** The inspection with what each of its rules has matched, on all pods of the node that have it. */
export function withCounts(inspection: Inspection, counts: readonly RuleCount[]): Inspection {
  const sums = new Map<string, Matched>();
  for (const count of counts) {
    const rule = countedRule(count);
    if (rule !== undefined) sums.set(countKey(rule), together(sums.get(countKey(rule)), count));
  }
  return { ...inspection, pods: inspection.pods.map(pod => podCounts(pod, sums)) };
}

function together(before: Matched | undefined, { packets, lastMsAgo }: RuleCount): Matched {
  const lastMatchedMsAgo = least(before?.lastMatchedMsAgo, lastMsAgo);
  return {
    matched: (before?.matched ?? 0) + packets,
    ...(lastMatchedMsAgo !== undefined && { lastMatchedMsAgo }),
  };
}

function least(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}

function podCounts(pod: PodInspection, sums: ReadonlyMap<string, Matched>): PodInspection {
  const of = (direction: Direction) => {
    const inspected = pod[direction];
    return (
      inspected && {
        ...inspected,
        rules: inspected.rules.map(rule => {
          const { verdict: action, source = '' } = rule;
          return { ...rule, ...sums.get(countKey({ direction, action, source })) };
        }),
      }
    );
  };
  const [ingress, egress] = [of('ingress'), of('egress')];
  return { ...pod, ...(ingress && { ingress }), ...(egress && { egress }) };
}
