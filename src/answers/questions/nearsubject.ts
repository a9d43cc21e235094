/** Policies that would select an end of a question if one label of their subject were written otherwise. */
import { getOrMake } from '../../lib/collections/getormake.ts';
import { groupedBy } from '../../lib/collections/groupedby.ts';
import { didYouMean } from '../../lib/text/didyoumean.ts';
import { type Cluster, NAMESPACE_NAME_LABEL, namespaceOf, type Pod } from '../../model/cluster.ts';
import type { Labelled, LabelSelector, Labels } from '../../model/labels.ts';
import { namespaceOfPolicy, type Policy } from '../../model/policy.ts';
import { matchesLabels, matchPod } from '../../model/selector.ts';
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
  return subjects.mistypedFor(pod).map(({ policy, noun, key, value, near }) => {
    const who = noun === 'pod' ? end.name : pod.namespace;
    return `${policy.id} selects nobody: no ${noun} has ${key}=${value}; did you mean ${key}=${near}, as ${who} has it?`;
  });
}

/** The policies that select nobody, and would select the pod with one label otherwise. */
export function mistypedSubjects(pod: Pod, view: View): readonly MistypedSubject[] {
  return subjectsOf(view).mistypedFor(pod);
}

export interface MistypedSubject {
  readonly policy: Policy;
  readonly noun: 'pod' | 'namespace';
  readonly key: string;
  readonly value: string;
  /** The value that it has in place of that. */
  readonly near: string;
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

/** The policies of a cluster, and which of them select nobody; one cluster may be asked thousands of questions. */
class Subjects {
  readonly cluster: Cluster;
  readonly #inventory: View['inventory'];
  /** By namespace; those of the cluster under the empty name. */
  readonly #policies: ReadonlyMap<string, readonly Policy[]>;
  readonly #isSelecting = new Map<Policy, boolean>();
  #labelled: ReadonlyMap<string, readonly (Labelled & { readonly namespace: string })[]> | undefined;

  constructor({ cluster, inventory }: View) {
    this.cluster = cluster;
    this.#inventory = inventory;
    this.#policies = groupedBy([...cluster.policies.values()], ({ id }) => namespaceOfPolicy(id));
  }

  isOf({ cluster, inventory }: View): boolean {
    return cluster.pods === this.cluster.pods && inventory === this.#inventory;
  }

  mistypedFor(pod: Pod): readonly MistypedSubject[] {
    const { namespace } = pod;
    const policies = [namespace, ''].flatMap(name => this.#policies.get(name) ?? []);
    return policies.flatMap(policy => {
      const meant = meantLabel(policy, pod, this.cluster);
      return meant === undefined || this.#selectsSomebody(policy, namespace) ? [] : [{ policy, ...meant }];
    });
  }

  /** A NetworkPolicy selects in its own namespace alone. */
  #selectsSomebody(policy: Policy, namespace: string): boolean {
    return getOrMake(this.#isSelecting, policy, () => {
      const labelled = this.#labelledByNamespace();
      const places = policy.kind === 'NetworkPolicy' ? [labelled.get(namespace) ?? []] : labelled.values();
      return [...places].some(those =>
        those.some(
          each => matchPod(policy.subject, each, namespaceOf(this.cluster, each.namespace)) !== 'no',
        ),
      );
    });
  }

  #labelledByNamespace() {
    this.#labelled ??= groupedBy(
      [...this.cluster.pods.values(), ...topWorkloads(this.#inventory)],
      each => each.namespace,
    );
    return this.#labelled;
  }
}

type MeantLabel = Omit<MistypedSubject, 'policy'>;

/** The one label that the pod, or its namespace, has otherwise, nearly as the policy asks for it. */
function meantLabel({ subject }: Policy, pod: Pod, cluster: Cluster): MeantLabel | undefined {
  const { namespaces, pods } = subject;
  const { labels } = namespaceOf(cluster, pod.namespace);
  const own = { [NAMESPACE_NAME_LABEL]: pod.namespace, ...labels };
  const missed = [
    ...missedBy(pods, pod.labels, 'pod'),
    ...(namespaces.kind === 'labels' ? missedBy(namespaces.selector, own, 'namespace') : []),
  ];
  const [only, ...others] = missed;
  return others.length === 0 ? only?.() : undefined;
}

/** For each requirement that the labels do not meet, what may be meant by it. */
function missedBy(selector: LabelSelector, labels: Labels, noun: MeantLabel['noun']) {
  return selector.requirements
    .filter(each => !matchesLabels({ requirements: [each] }, labels))
    .map(({ key, operator, values: [value, ...others] }) => (): MeantLabel | undefined => {
      const near = labels[key];
      if (operator !== 'In' || others.length > 0 || near === undefined || value === undefined)
        return undefined;
      return didYouMean(value, [near]) === undefined ? undefined : { noun, key, value, near };
    });
}
