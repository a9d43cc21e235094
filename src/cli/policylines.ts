/** The lines about policies that are not in force as written, for `sluice status` and `sluice inspect`. */
import type { PolicyStatusMessage, StatusResponse } from '../api/rpc/messages.ts';
import { groupedBy } from '../lib/collections/groupedby.ts';
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
/** How many reasons of one status have a line; each policy may have its own, as the kernel's error names an object. */
const MOST_REASONS = 3;

/** One line for each reason of a status; if wide, one for each policy. Nothing where all are in force. */
export function policyLines({ policies, policies_in_all }: PolicyStatuses, isWide = false): string[] {
  if (policies.length === 0) return [];
  const byStatus = groupedBy(policies, ({ status }) => status);
  // An agent of another version may have others.
  const kinds = [...new Set<string>([...POLICY_STATUSES, ...byStatus.keys()])];
  const groups = kinds.map(kind => byStatus.get(kind) ?? []);
  const more = policies_in_all - policies.length;
  return [
    'policies that are not in force as they were written:',
    ...groups.flatMap(its => (isWide ? its.map(each => groupLine([each])) : reasonLines(its))),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ];
}

function reasonLines(its: readonly PolicyStatusMessage[]): string[] {
  const groups = [...groupedBy(its, ({ reason }) => reason).values()];
  const others = groups.slice(MOST_REASONS).flat();
  return [
    ...groups.slice(0, MOST_REASONS).map(groupLine),
    ...(others.length > 0
      ? [`  ${statusWord(others[0]!)}  and ${others.length} more for other reasons (-o wide has them)`]
      : []),
  ];
}

function statusWord({ status }: PolicyStatusMessage): string {
  return pc.yellow(status.padEnd(11));
}

function groupLine(its: readonly PolicyStatusMessage[]): string {
  const [first] = its;
  return `  ${statusWord(first!)}  ${HANG}${firstOf(its, MOST_NAMED, ({ policy }) => policy)}: ${first!.reason}`;
}
