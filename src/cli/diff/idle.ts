/** Policies that are new or changed and select nobody: whoever compares hears why nothing opens or closes by them. */
import { SubjectIndex } from '../../files/subjects.ts';
import { namespaceOfPolicy, type Policy } from '../../model/policy.ts';
import { topWorkloads } from '../../model/workloadof.ts';
import type { Compared } from '../../reach/diff/side.ts';

const MOST_NAMED = 5;

/** `namespace` is what `-n` says of manifests that name none. */
export function idleNotes(old: Compared, now: Compared, namespace: string | undefined): readonly string[] {
  const changed = [...now.cluster.policies.values()].filter(
    policy => JSON.stringify(policy) !== JSON.stringify(old.cluster.policies.get(policy.id)),
  );
  const subjects = new SubjectIndex(now.cluster, topWorkloads(now.inventory));
  const idle = changed.filter(({ subject }) => !subjects.selectsAny(subject));
  const more = idle.length - MOST_NAMED;
  return [
    ...idle.slice(0, MOST_NAMED).map(policy => noteOf(policy, namespace)),
    ...(more > 0 ? [`and ${more} more policies select none of them`] : []),
  ];
}

function noteOf({ id }: Policy, namespace: string | undefined): string {
  const isByDefault = namespace === undefined && namespaceOfPolicy(id) === 'default';
  const hint = isByDefault ? ' (manifests that name no namespace are of default: -n names another)' : '';
  return `${id} selects none of the pods and workloads that are there, and decides nothing${hint}`;
}
