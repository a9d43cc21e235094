/** What audited policies would make of a connection that somebody asks about: each by itself, and all together. */
import { enforced } from '../../model/audited.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { Flow } from '../../model/flow.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import { comparePolicies, type Policy } from '../../model/policy.ts';
import { auditor, concerns } from '../../semantics/audit.ts';
import { viewOf } from '../../semantics/view.ts';

const MOST = 10;

/** Sentences; none where no audited policy would change the verdict. */
export function auditNotes(cluster: Cluster, flow: Flow, unknownPods: UnknownPods): readonly string[] {
  if (cluster.audited === undefined || cluster.audited.size === 0) return [];
  const view = viewOf(cluster, unknownPods);
  const asked = [...cluster.audited.values()]
    .filter(policy => concerns(view, policy, flow))
    .sort(comparePolicies);
  const change = (policies: readonly Policy[]) => {
    const { now, enforced: then } = auditor(view, policies.map(enforced))(flow);
    return now.verdict === then.verdict ? undefined : then.verdict;
  };
  const each = asked.slice(0, MOST).flatMap(policy => {
    const verdict = change([policy]);
    return verdict === undefined ? [] : [`${policy.id} would ${verdict} this: it is audited, not enforced`];
  });
  const all = asked.length > 1 ? change(asked) : undefined;
  const together = all ?? (each.length > 0 && asked.length > 1 ? 'not change' : undefined);
  return [
    ...each,
    ...(together === undefined
      ? []
      : [`all ${asked.length} audited policies on it together would ${together} this`]),
  ];
}
