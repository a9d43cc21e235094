/** Who compares hears why nothing opens or closes: nobody is asked about, or policies that are new or changed select nobody. */

import type { Compared } from '../../answers/reach/diff/side.ts';
import { SubjectIndex } from '../../inputs/files/subjects.ts';
import { namespaceOfPolicy, type Policy } from '../../model/policy.ts';
import { topWorkloads } from '../../model/workloadof.ts';
import { isAnybodyIn } from '../sources/scope.ts';
import type { Scope } from '../sources/state.ts';

const MOST_NAMED = 5;

export function nobodyNotes(old: Compared, now: Compared, scope: Scope): readonly string[] {
  const { namespace, selector } = scope;
  if ((namespace ?? selector) === undefined || isAnybodyIn(scope, old) || isAnybodyIn(scope, now)) return [];
  const which = selector === undefined ? '' : ' with these labels';
  const where = namespace === undefined ? '' : ` in namespace ${namespace}`;
  return [`there is no pod and no workload${which}${where} on either side: nothing opens or closes`];
}

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
