/** Follows a flow through the tiers: every policy that was looked at, and what became of its verdict. */

import type { Cluster, PodKey } from '../model/cluster.ts';
import type { Flow } from '../model/flow.ts';
import type { UnknownPods } from '../model/podcidrs.ts';
import type { Direction, Policy, PolicyId, Rule, Tier } from '../model/policy.ts';
import { type DirectionVerdict, evaluator, packetOf } from './evaluate.ts';
import type { Packet } from './match.ts';
import { ruleSays } from './reason.ts';
import { firstMatch, firstMatchingRule, type View, viewOf } from './view.ts';

export interface Walk {
  readonly flow: Flow;
  readonly verdict: 'allow' | 'deny';
  readonly egress: DirectionWalk;
  readonly ingress: DirectionWalk;
}

export interface DirectionWalk {
  readonly direction: Direction;
  /** The pod whose policies were looked at; absent if policy does not apply in this direction. */
  readonly pod?: PodKey;
  readonly verdict: DirectionVerdict;
  /** The policies that select the pod in this direction, in order of precedence. */
  readonly stops: readonly Stop[];
}

export interface Stop {
  readonly tier: Tier;
  readonly policy: PolicyId;
  /** The first rule that matches; absent if none does. */
  readonly rule?: string;
  /** `isolates`: a NetworkPolicy without a matching rule. `nothing`: a cluster policy without a matching rule. */
  readonly says: 'allow' | 'deny' | 'pass' | 'isolates' | 'nothing';
  /**
   *     decided       its verdict is the final one
   *     passed        its Pass sent the packet to the next tier
   *     same-verdict  another policy decided before it or together with it, with the same verdict
   *     overridden    without the policies before it, the verdict would be the opposite
   *     no-match      no rule of it matches, or another NetworkPolicy allows what this one isolates
   */
  readonly part: 'decided' | 'passed' | 'same-verdict' | 'overridden' | 'no-match';
  /** The policy that overrode it. */
  readonly by?: PolicyId;
  /** `NetworkPolicy shop/web ingress[0] allows …`; absent if no rule matches. */
  readonly text?: string;
}

export function walk(cluster: Cluster, flow: Flow, unknownPods?: UnknownPods): Walk {
  const view = viewOf(cluster, unknownPods);
  const { verdict, egress, ingress } = evaluator(cluster, unknownPods)(flow);
  return {
    flow,
    verdict,
    egress: walkDirection(view, 'egress', flow, egress),
    ingress: walkDirection(view, 'ingress', flow, ingress),
  };
}

function walkDirection(
  view: View,
  direction: Direction,
  flow: Flow,
  verdict: DirectionVerdict,
): DirectionWalk {
  const packet = packetOf(view, direction, flow);
  if (typeof packet === 'string') return { direction, verdict, stops: [] };
  const stops = TIERS.flatMap(tier =>
    view.policiesOn(packet.subject, direction, tier).map(policy => stopAt(view, policy, packet, verdict)),
  );
  return { direction, pod: packet.subject.key, verdict, stops };
}

const TIERS: readonly Tier[] = ['admin', 'networkpolicy', 'baseline'];

function stopAt(view: View, policy: Policy, packet: Packet, verdict: DirectionVerdict): Stop {
  const { tier, id } = policy;
  const rule = firstMatchingRule(view.cluster, policy, packet);
  const says = word(policy, rule);
  const part = partOf(view, policy, says, packet, verdict);
  const by =
    part === 'overridden' ? (verdict.policy ?? firstMatch(view, tier, packet)?.policy.id) : undefined;
  const matched = rule && { rule: rule.path, text: ruleSays(view, policy, rule, packet) };
  return { tier, policy: id, says, part, ...(by && { by }), ...matched };
}

function word(policy: Policy, rule: Rule | undefined): Stop['says'] {
  if (rule === undefined) return policy.tier === 'networkpolicy' ? 'isolates' : 'nothing';
  return rule.action === 'accept' ? 'allow' : rule.action;
}

function partOf(
  view: View,
  policy: Policy,
  says: Stop['says'],
  packet: Packet,
  verdict: DirectionVerdict,
): Stop['part'] {
  if (verdict.policy === policy.id) return 'decided';
  if (says === 'nothing' || isOutvoted(view, says, packet)) return 'no-match';
  if (says === 'pass' && firstMatch(view, policy.tier, packet)?.policy === policy) return 'passed';
  return wouldBe(view, policy.tier, says, packet) === verdict.verdict ? 'same-verdict' : 'overridden';
}

/** A NetworkPolicy that only isolates is overridden by any NetworkPolicy that allows. */
function isOutvoted(view: View, says: Stop['says'], packet: Packet): boolean {
  return says === 'isolates' && firstMatch(view, 'networkpolicy', packet) !== undefined;
}

/** The verdict if this policy's were the first verdict of the tier. */
function wouldBe(view: View, tier: Tier, says: Stop['says'], packet: Packet): 'allow' | 'deny' {
  if (says === 'allow') return 'allow';
  return says === 'pass' ? verdictAfter(view, tier, packet) : 'deny';
}

function verdictAfter(view: View, tier: Tier, packet: Packet): 'allow' | 'deny' {
  if (tier === 'admin') {
    const isolated = view.policiesOn(packet.subject, packet.direction, 'networkpolicy').length > 0;
    if (isolated) return firstMatch(view, 'networkpolicy', packet) === undefined ? 'deny' : 'allow';
    return firstMatch(view, 'baseline', packet)?.rule.action === 'deny' ? 'deny' : 'allow';
  }
  return 'allow';
}
