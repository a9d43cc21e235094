/** Policies that would select an end of a question if one label of their podSelector were written otherwise. */
import { getOrMake } from '../../lib/collections/getormake.ts';
import { groupedBy } from '../../lib/collections/groupedby.ts';
import { didYouMean } from '../../lib/text/didyoumean.ts';
import type { Pod } from '../../model/cluster.ts';
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
  const subjects = subjectsOf(view);
  const notes = [flow.from, flow.to.endpoint].flatMap(end => notesOf(end, subjects));
  return [...new Set(notes)].slice(0, MOST_NOTES);
}

const MOST_NOTES = 4;

function notesOf(end: ResolvedEndpoint, subjects: Subjects): readonly string[] {
  const pod = podOf(end);
  if (pod === undefined) return [];
  return subjects.policiesIn(pod.namespace).flatMap(policy => {
    const meant = meantLabel(policy, pod);
    if (meant === undefined || subjects.selectsSomebody(policy, pod.namespace)) return [];
    const [key, value, near] = meant;
    return [
      `${policy.id} selects nobody: no pod has ${key}=${value}; did you mean ${key}=${near}, as ${end.name} has it?`,
    ];
  });
}

const subjectsByPolicies = new WeakMap<object, Subjects>();

function subjectsOf(view: View): Subjects {
  const { policies } = view.cluster;
  const known = subjectsByPolicies.get(policies);
  if (known?.isOf(view)) return known;
  const made = new Subjects(view);
  subjectsByPolicies.set(policies, made);
  return made;
}

/** The NetworkPolicies of a cluster, and which of them select nobody; one cluster may be asked thousands of questions. */
class Subjects {
  readonly #view: View;
  readonly #policies: ReadonlyMap<string, readonly Policy[]>;
  readonly #selectsSomebody = new Map<Policy, boolean>();
  #labelled: ReadonlyMap<string, readonly { readonly labels: Labels }[]> | undefined;

  constructor(view: View) {
    this.#view = view;
    const all = [...view.cluster.policies.values()].filter(({ kind }) => kind === 'NetworkPolicy');
    this.#policies = groupedBy(all, ({ id }) => namespaceOfPolicy(id));
  }

  isOf({ cluster, inventory }: View): boolean {
    return cluster.pods === this.#view.cluster.pods && inventory === this.#view.inventory;
  }

  policiesIn(namespace: string): readonly Policy[] {
    return this.#policies.get(namespace) ?? [];
  }

  selectsSomebody(policy: Policy, namespace: string): boolean {
    return getOrMake(this.#selectsSomebody, policy, () =>
      this.#labelledIn(namespace).some(({ labels }) => matchesLabels(policy.subject.pods, labels)),
    );
  }

  #labelledIn(namespace: string) {
    const { cluster, inventory } = this.#view;
    this.#labelled ??= groupedBy(
      [...cluster.pods.values(), ...topWorkloads(inventory)],
      each => each.namespace,
    );
    return this.#labelled.get(namespace) ?? [];
  }
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
