/** Notes about policies of other engines: an answer that does not know of them is not complete. */
import { firstOf } from '../lib/text/firstof.ts';
import { type Cluster, namespaceOf } from '../model/cluster.ts';
import type { ForeignPolicy } from '../model/foreignpolicy.ts';
import type { Inventory } from '../model/inventory.ts';
import type { Labelled } from '../model/labels.ts';
import { matchPod } from '../model/selector.ts';
import { topWorkloads, workloadOf } from '../model/workloadof.ts';

const MOST_POLICIES = 8;
const MOST_WORKLOADS = 5;
/** A limit, because each is held against each pod. */
const MOST_LOOKED_AT = 500;

interface State {
  readonly cluster: Cluster;
  readonly inventory: Inventory;
}

/** One for each policy that may isolate somebody; there may be very many, so that some are only counted. */
export function foreignNotes(state: State): readonly string[] {
  const { foreignPolicies } = state.inventory;
  if (foreignPolicies.length === 0) return [];
  const pods = podsOf(state);
  const notes: string[] = [];
  for (const [index, policy] of foreignPolicies.entries()) {
    if (notes.length === MOST_POLICIES || index === MOST_LOOKED_AT) {
      const more = foreignPolicies.length - index;
      return [
        ...notes,
        `not read either: ${more} more ${more === 1 ? 'policy' : 'policies'} of other engines`,
      ];
    }
    const whom = mayIsolate(state.cluster, pods, policy);
    if (whom !== undefined) notes.push(`not read: ${policy.id} (${policy.engine}): it may isolate ${whom}`);
  }
  return notes;
}

type Named = Labelled & { readonly namespace: string; readonly workload: string };

/** `shop/web, shop/db and 3 more`. */
function mayIsolate(
  cluster: Cluster,
  pods: readonly Named[],
  { subjects }: ForeignPolicy,
): string | undefined {
  const isMeant = (pod: Named) => {
    const namespace = namespaceOf(cluster, pod.namespace);
    return subjects.some(subject => matchPod(subject, pod, namespace) !== 'no');
  };
  const names = [...new Set(pods.filter(isMeant).map(({ workload }) => workload))].sort();
  return names.length === 0 ? undefined : firstOf(names, MOST_WORKLOADS);
}

function podsOf({ cluster, inventory }: State): readonly Named[] {
  const pods = [...cluster.pods.values()].filter(({ finished, hostNetwork }) => !(finished || hostNetwork));
  const workloads = topWorkloads(inventory).filter(({ hostNetwork }) => !hostNetwork);
  const nameOf = (id: string) => id.slice(id.indexOf(' ') + 1);
  return [
    ...pods.map(pod => ({ ...pod, workload: nameOf(workloadOf(inventory, pod).id) })),
    ...workloads.map(each => ({ ...each, workload: nameOf(each.id) })),
  ];
}
