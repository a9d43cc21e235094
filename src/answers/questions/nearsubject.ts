/** Policies that would select an end of a question if one label of their podSelector were written otherwise. */
import { groupedBy } from '../../lib/collections/groupedby.ts';
import { didYouMean } from '../../lib/text/didyoumean.ts';
import type { Pod } from '../../model/cluster.ts';
import type { Inventory } from '../../model/inventory.ts';
import type { Labels } from '../../model/labels.ts';
import { namespaceOfPolicy, type Policy } from '../../model/policy.ts';
import { matchesLabels } from '../../model/selector.ts';
import { topWorkloads } from '../../model/workloadof.ts';
import type { JudgedFlow } from './judge.ts';
import { type ClusterView, podOf, type ResolvedEndpoint } from './place.ts';

type View = Pick<ClusterView, 'cluster' | 'inventory'>;

/** Without a note an answer looks as if there were no such policy. */
export function nearSubjectNotes(flow: JudgedFlow | undefined, view: View): readonly string[] {
  if (flow === undefined) return [];
  return [...new Set([flow.from, flow.to.endpoint].flatMap(end => notesOf(end, view)))].slice(0, MOST_NOTES);
}

const MOST_NOTES = 4;

function notesOf(end: ResolvedEndpoint, view: View): readonly string[] {
  const pod = podOf(end);
  if (pod === undefined) return [];
  return policiesIn(view, pod.namespace).flatMap(policy => {
    const meant = meantLabel(policy, pod);
    if (meant === undefined || selectsSomebody(policy, pod.namespace, view)) return [];
    const [key, value, near] = meant;
    return [
      `${policy.id} selects nobody: no pod has ${key}=${value}; did you mean ${key}=${near}, as ${end.name} has it?`,
    ];
  });
}

const byNamespace = new WeakMap<object, ReadonlyMap<string, readonly Policy[]>>();

/** NetworkPolicies; one cluster may be asked thousands of questions. */
function policiesIn({ cluster: { policies } }: View, namespace: string): readonly Policy[] {
  let known = byNamespace.get(policies);
  if (known === undefined) {
    const all = [...policies.values()].filter(({ kind }) => kind === 'NetworkPolicy');
    known = groupedBy(all, ({ id }) => namespaceOfPolicy(id));
    byNamespace.set(policies, known);
  }
  return known.get(namespace) ?? [];
}

/** The one label that the pod has otherwise, nearly as the policy asks for it. */
function meantLabel({ subject: { pods } }: Policy, { labels }: Pod): [string, string, string] | undefined {
  const missed = pods.requirements.filter(each => !matchesLabels({ requirements: [each] }, labels));
  const [{ key, operator, values } = NONE, ...more] = missed;
  const [value, ...others] = values;
  const own = labels[key];
  if (more.length + others.length > 0 || operator !== 'In' || own === undefined || value === undefined)
    return;
  return didYouMean(value, [own]) === undefined ? undefined : [key, value, own];
}

const NONE = { key: '', operator: 'In', values: [] as readonly string[] } as const;

function selectsSomebody({ subject: { pods } }: Policy, namespace: string, view: View): boolean {
  for (const labels of labelsIn(view.inventory, [...view.cluster.pods.values()], namespace))
    if (matchesLabels(pods, labels)) return true;
  return false;
}

function* labelsIn(inventory: Inventory, pods: readonly Pod[], namespace: string): Generator<Labels> {
  for (const each of [...pods, ...topWorkloads(inventory)])
    if (each.namespace === namespace) yield each.labels ?? {};
}
