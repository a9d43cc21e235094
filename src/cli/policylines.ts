/** The lines about policies that are not in force as written, for `sluice status` and `sluice inspect`. */
import type { PolicyStatusMessage, StatusResponse } from '../api/rpc/messages.ts';
import { firstOf } from '../lib/text/firstof.ts';
import type { Cluster } from '../model/cluster.ts';
import { POLICY_STATUSES, statusAsRead, statusText } from '../model/policystatus.ts';
import pc from '../terminal/colours.ts';
import { HANG } from '../terminal/hang.ts';

export type PolicyStatuses = Pick<StatusResponse, 'policies' | 'policies_in_all'>;

/** The statuses that follow from manifests alone, without an agent. */
export function statusesOf({ policies, audited }: Pick<Cluster, 'policies' | 'audited'>): PolicyStatuses {
  const all = [...policies.values(), ...(audited?.values() ?? [])];
  const found = all.flatMap(policy => statusAsRead(policy) ?? []);
  const messages = found.map(statusText);
  return { policies: messages, policies_in_all: messages.length };
}

const MOST_NAMED = 3;

/** One line for each status, with the reason of its first policy; where it is wide, one for each policy. Nothing where all are in force. */
export function policyLines({ policies, policies_in_all }: PolicyStatuses, isWide = false): string[] {
  if (policies.length === 0) return [];
  const byStatus = Map.groupBy(policies, ({ status }) => status);
  // An agent of another version may have others.
  const kinds = [...new Set<string>([...POLICY_STATUSES, ...byStatus.keys()])];
  const groups = kinds.flatMap(kind => {
    const its = byStatus.get(kind) ?? [];
    return isWide ? its.map(each => [each]) : its.length === 0 ? [] : [its];
  });
  const more = policies_in_all - policies.length;
  return [
    'policies that are not in force as they were written:',
    ...groups.map(groupLine),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ];
}

function groupLine(its: readonly PolicyStatusMessage[]): string {
  const { status, reason } = its[0]!;
  return `  ${pc.yellow(status.padEnd(11))}  ${HANG}${firstOf(its, MOST_NAMED, ({ policy }) => policy)}: ${reason}`;
}
