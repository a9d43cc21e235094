/** What has become of policies on the node whose agent is asked: an answer is judged by the versions in force. */
import { getOrMake } from '../../lib/collections/getormake.ts';
import type { Cluster } from '../../model/cluster.ts';
import { namespaceOfPolicy, type PolicyId } from '../../model/policy.ts';
import { STATUSES_AS_READ, type StatusText } from '../../model/policystatus.ts';
import type { JudgedFlow } from './judge.ts';

/** Versions that are not as written say so in their own reasons, also without an agent. */
const OF_ITS_VERSION: ReadonlySet<string> = new Set(STATUSES_AS_READ);

/** Statuses by policy; a policy has several if an edit of it waits too. */
export type StatusesByPolicy = ReadonlyMap<string, readonly StatusText[]>;

export function statusesByPolicy(statuses: readonly StatusText[] = []): StatusesByPolicy {
  const byPolicy = new Map<string, StatusText[]>();
  for (const status of statuses)
    if (!OF_ITS_VERSION.has(status.status)) getOrMake(byPolicy, status.policy, () => []).push(status);
  return byPolicy;
}

/** Policies of which nothing is in force yet, and which may select an end of the question: no list of policies has them. */
export function comingNotes(
  statuses: StatusesByPolicy,
  { policies, audited }: Cluster,
  cases: readonly JudgedFlow[],
): readonly string[] {
  const ends = cases.flatMap(({ from, to }) => [from.pod?.namespace, to.endpoint.pod?.namespace]);
  const namespaces = new Set<string | undefined>(['', ...ends]);
  const coming = [...statuses].filter(([id]) => {
    const isKnown = policies.has(id as PolicyId) || audited?.has(id as PolicyId);
    return !isKnown && namespaces.has(namespaceOfPolicy(id as PolicyId));
  });
  const shown = coming.slice(0, MOST_COMING).map(([id, its]) => `${id}: ${its[0]!.reason}`);
  const more = coming.length - MOST_COMING;
  return more > 0 ? [...shown, `and ${more} more policies of which nothing is in force yet`] : shown;
}

const MOST_COMING = 5;
