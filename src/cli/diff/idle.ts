/** Policies that are new or changed and select nobody: whoever compares hears why nothing opens or closes by them. */
import { type Cluster, isSelectable, namespaceOf } from '../../model/cluster.ts';
import { getOrMake } from '../../model/getormake.ts';
import type { Labels } from '../../model/labels.ts';
import { namespaceOfPolicy, type Policy } from '../../model/policy.ts';
import { matchesLabels, matchNamespace } from '../../model/selector.ts';
import { topWorkloads } from '../../model/workloadof.ts';
import type { Compared } from '../../reach/diff/side.ts';

const MOST_NAMED = 5;

/** `namespace` is what `-n` says of manifests that name none. */
export function idleNotes(old: Compared, now: Compared, namespace: string | undefined): readonly string[] {
  const changed = [...now.cluster.policies.values()].filter(
    policy => JSON.stringify(policy) !== JSON.stringify(old.cluster.policies.get(policy.id)),
  );
  const selectable = selectableByNamespace(now);
  const idle = changed.filter(policy => !selectsAny(policy, selectable, now.cluster));
  const more = idle.length - MOST_NAMED;
  return [
    ...idle.slice(0, MOST_NAMED).map(policy => noteOf(policy, namespace)),
    ...(more > 0 ? [`and ${more} more policies select none of them`] : []),
  ];
}

type Selectable = ReadonlyMap<string, readonly Labels[]>;

/** The labels of the pods and workloads that are there. */
function selectableByNamespace({ cluster, inventory }: Compared): Selectable {
  const found = new Map<string, Labels[]>();
  const pods = [...cluster.pods.values()].filter(isSelectable);
  for (const { namespace, labels } of [...pods, ...topWorkloads(inventory)])
    getOrMake(found, namespace, () => []).push(labels);
  return found;
}

function selectsAny({ subject }: Policy, selectable: Selectable, cluster: Cluster): boolean {
  return [...selectable].some(
    ([name, all]) =>
      matchNamespace(subject.namespaces, name, namespaceOf(cluster, name)) !== 'no' &&
      all.some(labels => matchesLabels(subject.pods, labels)),
  );
}

function noteOf({ id }: Policy, namespace: string | undefined): string {
  const isByDefault = namespace === undefined && namespaceOfPolicy(id) === 'default';
  const hint = isByDefault ? ' (manifests that name no namespace are of default: -n names another)' : '';
  return `${id} selects none of the pods and workloads that are there, and decides nothing${hint}`;
}
