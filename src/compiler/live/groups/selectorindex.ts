/** Finds the selectors that may select a pod, without looking at all selectors. */

import { MultiMap } from '../../../lib/collections/multimap.ts';
import type { Namespace, Pod } from '../../../model/cluster.ts';
import { labelTexts } from '../../../model/labels.ts';
import type { LabelSelector, PodSelector } from '../../../model/selector.ts';

/**
 * Every selector is indexed by its most selective requirement: a label of the pod, together with the namespace's name
 * if the selector has one; else a label of the namespace. A selector without requirements is always a candidate.
 */
export class SelectorIndex<T extends object> {
  readonly #filed = new MultiMap<string, T>();

  add(selector: PodSelector, value: T): void {
    for (const key of filedUnder(selector)) this.#filed.add(key, value);
  }

  delete(selector: PodSelector, value: T): void {
    for (const key of filedUnder(selector)) this.#filed.delete(key, value);
  }

  /** All selectors that select the pod or might select it, and perhaps more, each once. */
  candidates(pod: Pod, namespace: Namespace): Set<T> {
    // Labels that are not known may be those that any selector requires.
    if (pod.partial || namespace.partial) return new Set(this.#filed.values());
    const found = new Set<T>();
    for (const key of keysOf(pod, namespace)) for (const value of this.#filed.get(key)) found.add(value);
    return found;
  }
}

const ALWAYS = '*';

function filedUnder({ namespaces, pods }: PodSelector): string[] {
  const byPod = inValues(pods);
  if (namespaces.kind === 'name') {
    const { name } = namespaces;
    return byPod?.map(label => inNamespace(name, label)) ?? [`in ${name}`];
  }
  if (byPod !== undefined) return byPod.map(label => `pod ${label}`);
  return inValues(namespaces.selector)?.map(label => `namespace ${label}`) ?? [ALWAYS];
}

function inNamespace(name: string, label: string): string {
  return `in ${name} ${label}`;
}

function inValues({ requirements }: LabelSelector): string[] | undefined {
  const first = requirements.find(({ operator }) => operator === 'In');
  return first?.values.map(value => `${first.key}=${value}`);
}

function keysOf(pod: Pod, namespace: Namespace): string[] {
  const keys = [`in ${pod.namespace}`, ALWAYS];
  for (const label of labelTexts(pod.labels)) keys.push(`pod ${label}`, inNamespace(pod.namespace, label));
  for (const label of labelTexts(namespace.labels)) keys.push(`namespace ${label}`);
  return keys;
}
