/**
 * Namespaces of which there is no object: a repository often holds none, and nobody knows their labels. The agent allows
 * nothing because of them (N68); a question is answered for all labels that they may have, and if the answers differ,
 * it is undecided.
 */
import { addressOwners } from '../../model/addressowners.ts';
import {
  type Cluster,
  NAMESPACE_NAME_LABEL,
  type Namespace,
  namespaceOf,
  type Pod,
} from '../../model/cluster.ts';
import type { Flow } from '../../model/flow.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { Policy } from '../../model/policy.ts';
import { matchPod, type PodSelector } from '../../model/selector.ts';
import { evaluator, type FlowVerdict } from '../../semantics/evaluate.ts';
import { peerSelectors, possibleNamespaces } from '../reach/newpods.ts';

export interface Completions {
  /** The cluster with namespaces of all kinds; it alone if the labels of all of them are known. */
  readonly clusters: readonly Cluster[];
  /** The namespaces whose labels are not known and may matter. */
  readonly unknown: readonly string[];
  /** There are more kinds of labels than these. */
  readonly isCut: boolean;
}

/** More would take minutes; they are the product of the labels of each namespace. */
const MOST_CLUSTERS = 256;

/** `pods` are the ends that are asked about: only their namespaces, and the policies on them, matter. */
export function completionsOf(cluster: Cluster, pods: readonly Pod[]): Completions {
  const names = new Set(pods.flatMap(({ namespace, hostNetwork }) => (hostNetwork ? [] : [namespace])));
  // What an agent does not know it denies, so that is the answer to what it does.
  const unknown = [...names].filter(name => !cluster.namespaces.has(name) && cluster.seenBy === undefined);
  let clusters: readonly Cluster[] = [cluster];
  let isAnyCut = false;
  const several: string[] = [];
  for (const name of unknown) {
    const most = Math.ceil(MOST_CLUSTERS / clusters.length);
    const { namespaces, isCut } = possibleNamespaces(askingFor(cluster, pods, name), name, most);
    if (namespaces.length > 1) several.push(name);
    isAnyCut ||= isCut;
    clusters = clusters.flatMap(each => namespaces.map(namespace => withNamespace(each, namespace)));
  }
  return { clusters, unknown: several, isCut: isAnyCut };
}

/** The selectors that may decide by labels of the namespace: subjects for its own pods, and peers of policies on others. */
function askingFor(cluster: Cluster, pods: readonly Pod[], name: string): PodSelector[] {
  const own = pods.filter(({ namespace }) => namespace === name);
  const others = own.length > 1 ? pods : pods.filter(({ namespace }) => namespace !== name);
  const maySelect = (policy: Policy, some: readonly Pod[]) =>
    some.some(pod => matchPod(policy.subject, pod, namespaceOf(cluster, pod.namespace)) !== 'no');
  return [...cluster.policies.values()].flatMap(policy => [
    ...(maySelect(policy, own) ? [policy.subject] : []),
    ...(maySelect(policy, others) ? peerSelectors(policy) : []),
  ]);
}

function withNamespace(cluster: Cluster, namespace: Namespace): Cluster {
  return { ...cluster, namespaces: new Map(cluster.namespaces).set(namespace.name, namespace) };
}

/** Why there is no verdict, given the verdict in each of the clusters; undefined if all of them are the same. */
export function undecidedByLabels(
  { clusters, unknown, isCut }: Completions,
  verdicts: readonly ('allow' | 'deny')[],
): string | undefined {
  const [first] = verdicts;
  const other = verdicts.findIndex(verdict => verdict !== first);
  if (other === -1)
    return isCut ? `${notKnown(unknown)}, and policies ask for more of them than were tried` : undefined;
  const [one, another] = [clusters[0]!, clusters[other]!];
  const differing = unknown.filter(name => one.namespaces.get(name) !== another.namespaces.get(name));
  const [without, having] = [one, another].map(cluster => labelsText(cluster, differing));
  return `${notKnown(differing)}: with ${having} policy would ${verdicts[other]} this, with ${without} it would ${first} it`;
}

function notKnown(names: readonly string[]): string {
  const whose = `namespace${names.length === 1 ? '' : 's'} ${names.join(' and ')}`;
  return `the labels of ${whose} are not known, as there is no Namespace object`;
}

/** The verdict on one flow; undecided, with the reason, where the labels of unknown namespaces matter. */
export function evaluateAll(
  cluster: Cluster,
  flow: Flow,
  unknownPods: UnknownPods,
): { readonly found: FlowVerdict; readonly undecided?: string; readonly known: Cluster } {
  const owners = addressOwners(cluster);
  const pods = [owners.get(flow.from), owners.get(flow.to)].filter(pod => pod !== undefined);
  const completions = completionsOf(cluster, pods);
  const found = completions.clusters.map(each => evaluator(each, unknownPods)(flow));
  const undecided = undecidedByLabels(
    completions,
    found.map(({ verdict }) => verdict),
  );
  return { found: found[0]!, known: completions.clusters[0]!, ...(undecided !== undefined && { undecided }) };
}

/** A note that the answer does not depend on what is not known; none if all is known. */
export function sameForAllLabels({ clusters, unknown }: Completions): string[] {
  return clusters.length === 1 ? [] : [`${notKnown(unknown)}; the verdict is the same with any`];
}

/** `team=x`; of several namespaces `team=x on bank and no label that a policy asks for on shop`. */
function labelsText({ namespaces }: Cluster, names: readonly string[]): string {
  const texts = names.map(name => {
    const own = Object.entries(namespaces.get(name)!.labels).filter(([key]) => key !== NAMESPACE_NAME_LABEL);
    const text =
      own.length === 0 ? 'no label that a policy asks for' : own.map(label => label.join('=')).join(',');
    return names.length === 1 ? text : `${text} on ${name}`;
  });
  return texts.join(' and ');
}
