/** Selectors that mean the pods of one set of labels, and of what is recorded nobody else. */
import type { Labels } from '../../model/labels.ts';
import type { Recording } from '../recording.ts';
import { stableLabels } from '../stablelabels.ts';

export interface SelectorObject {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly { readonly key: string; readonly operator: 'DoesNotExist' }[];
}

/** The same for the same labels. */
export function labelText(labels: Labels): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}

export class LabelSets {
  readonly #sets = new Map<string, Map<string, Labels>>();

  /** Of all pods that the recording knows, silent ones too. */
  constructor({ flows, silent }: Pick<Recording, 'flows' | 'silent'>) {
    for (const { namespace, labels } of silent) this.#add(namespace, labels);
    for (const { from, to } of flows)
      for (const { pod } of [from, to])
        if (pod !== undefined) this.#add(pod.namespace, stableLabels(pod.labels));
  }

  /** Labels that another set has beside all of these must not be there: else the selector would mean that one too. */
  selector(namespace: string, labels: Labels): SelectorObject {
    const missing = new Set<string>();
    for (const other of this.#sets.get(namespace)?.values() ?? []) {
      if (!Object.entries(labels).every(([key, value]) => Object.hasOwn(other, key) && other[key] === value))
        continue;
      const more = Object.keys(other).filter(key => !Object.hasOwn(labels, key));
      if (more.length > 0 && !more.some(key => missing.has(key))) missing.add(more.sort()[0]!);
    }
    const matchExpressions = [...missing].sort().map(key => ({ key, operator: 'DoesNotExist' }) as const);
    return {
      ...(Object.keys(labels).length > 0 && { matchLabels: labels }),
      ...(matchExpressions.length > 0 && { matchExpressions }),
    };
  }

  #add(namespace: string, labels: Labels): void {
    const sets = this.#sets.get(namespace) ?? new Map<string, Labels>();
    this.#sets.set(namespace, sets.set(labelText(labels), labels));
  }
}
