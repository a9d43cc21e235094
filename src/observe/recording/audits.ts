/**
 * The verdicts that audited policies would have had on recorded connections: each by itself together with those in
 * force, and all of them together.
 */
import { withEnforced } from '../../model/audited.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { PolicyId } from '../../model/policy.ts';
import { endNamer } from './endname.ts';
import { type FlowGroup, flowGroups, type JudgedFlow } from './groups.ts';
import { recordingJudge } from './judge.ts';
import type { Recording } from './recording.ts';

export interface AuditResult {
  readonly policies: readonly PolicyId[];
  readonly wouldDeny: readonly FlowGroup[];
  readonly wouldAllow: readonly FlowGroup[];
}

export function auditOf(
  recording: Recording,
  cluster: Cluster,
  policies: readonly PolicyId[],
  unknownPods?: UnknownPods,
): AuditResult {
  const now = recordingJudge(recording, cluster, unknownPods);
  const enforced = recordingJudge(recording, withEnforced(cluster, policies), unknownPods);
  const changed: Record<'allow' | 'deny', JudgedFlow[]> = { allow: [], deny: [] };
  for (const flow of recording.flows) {
    const [before, verdict] = [now(flow).verdict, enforced(flow)];
    if (before !== verdict.verdict) changed[verdict.verdict].push({ flow, verdict });
  }
  const nameOf = endNamer(recording);
  return {
    policies,
    wouldDeny: flowGroups(changed.deny, nameOf),
    wouldAllow: flowGroups(changed.allow, nameOf),
  };
}
