/**
 * Finds the selectors that may select a pod after its labels have changed and did not before, or the other way round,
 * without looking at all selectors.
 */

import { MultiMap } from '../../../lib/collections/multimap.ts';
import type { Namespace, Pod } from '../../../model/cluster.ts';
import type { Labels, Requirement } from '../../../model/labels.ts';
import type { PodSelector } from '../../../model/selector.ts';

/** What selectors look at: a pod's labels, and those of its namespace. */
export interface LabelledPod {
  readonly pod: Pod;
  readonly namespace: Namespace;
}

/**
 * Every selector is indexed by all that it mentions: each value of a label, and each label that has to be present or
 * absent. A relabelled pod affects the selectors that mention a label that it has lost or got.
 */
export class MentionIndex<T extends object> {
  readonly #filed = new MultiMap<string, T>();
  /** Cached for the last change of a namespace: it affects the same selectors for each of its pods. */
  #ofNamespaces:
    | { readonly before: Namespace; readonly now: Namespace; readonly touched: Set<T> }
    | undefined;

  add(selector: PodSelector, value: T): void {
    this.#ofNamespaces = undefined;
    for (const text of mentionsOf(selector)) this.#filed.add(text, value);
  }

  delete(selector: PodSelector, value: T): void {
    this.#ofNamespaces = undefined;
    for (const text of mentionsOf(selector)) this.#filed.delete(text, value);
  }

  /**
   * All selectors that may select exactly one of the two, and perhaps more, each once; undefined if not all labels are
   * known.
   */
  touchedBy(before: LabelledPod, now: LabelledPod): ReadonlySet<T> | undefined {
    if (isPartial(before) || isPartial(now)) return undefined;
    const byNamespace = this.#touchedByNamespaces(before.namespace, now.namespace);
    if (before.pod.labels === now.pod.labels) return byNamespace;
    const touched = new Set(byNamespace);
    for (const text of changesOf(before.pod.labels, now.pod.labels)) {
      this.#touch(touched, mention(ANY_NAMESPACE, text));
      this.#touch(touched, mention(inNamespace(now.pod.namespace), text));
    }
    return touched;
  }

  #touchedByNamespaces(before: Namespace, now: Namespace): ReadonlySet<T> {
    const last = this.#ofNamespaces;
    if (last?.before === before && last.now === now) return last.touched;
    const touched = new Set<T>();
    for (const text of changesOf(before.labels, now.labels))
      this.#touch(touched, mention(OF_NAMESPACE, text));
    this.#ofNamespaces = { before, now, touched };
    return touched;
  }

  #touch(touched: Set<T>, text: string): void {
    for (const value of this.#filed.get(text)) touched.add(value);
  }
}

function isPartial({ pod, namespace }: LabelledPod): boolean {
  return pod.partial === true || namespace.partial === true;
}

/** The scope of a label: of pods in all namespaces, of pods in one namespace, or of a namespace. */
const ANY_NAMESPACE = 'pod';
const OF_NAMESPACE = 'namespace';

function inNamespace(name: string): string {
  return `in ${name}`;
}

/** Keys, values and names hold neither a space nor `=`. */
function mention(whose: string, text: string): string {
  return `${whose} ${text}`;
}

function mentionsOf({ namespaces, pods }: PodSelector): string[] {
  const whose = namespaces.kind === 'name' ? inNamespace(namespaces.name) : ANY_NAMESPACE;
  const ofNamespaces = namespaces.kind === 'name' ? [] : namespaces.selector.requirements;
  return [
    ...pods.requirements.flatMap(textsOf).map(text => mention(whose, text)),
    ...ofNamespaces.flatMap(textsOf).map(text => mention(OF_NAMESPACE, text)),
  ];
}

function textsOf({ key, operator, values }: Requirement): string[] {
  const asksForValue = operator === 'In' || operator === 'NotIn';
  return asksForValue ? values.map(value => `${key}=${value}`) : [key];
}

/** The `key=value` texts that only one of the two has, and the keys that only one of them has. */
function* changesOf(before: Labels, now: Labels): Generator<string> {
  if (before === now) return;
  for (const key of new Set([...Object.keys(before), ...Object.keys(now)])) {
    // Own properties only: a label may be called `constructor`.
    const [was, is] = [before, now].map(labels => (Object.hasOwn(labels, key) ? labels[key] : undefined));
    if (was === is) continue;
    if (was === undefined || is === undefined) yield key;
    if (was !== undefined) yield `${key}=${was}`;
    if (is !== undefined) yield `${key}=${is}`;
  }
}
