/** Selectors that mean the pods of one set of labels, and of what is recorded nobody else. */
import { getOrMake } from '../../../lib/collections/getormake.ts';
import { type Labels, labelTexts } from '../../../model/labels.ts';
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

/** The sets of one namespace. */
interface OfNamespace {
  readonly sets: Map<string, Labels>;
  /** Those that have a label, by its key and value. */
  readonly having: Map<string, Labels[]>;
  /** Of the sets that were asked about. */
  readonly selectors: Map<string, SelectorObject>;
}

export class LabelSets {
  readonly #namespaces = new Map<string, OfNamespace>();

  /** Of all pods that the recording knows, silent ones too. */
  constructor({ flows, silent }: Pick<Recording, 'flows' | 'silent'>) {
    for (const { namespace, labels } of silent) add(this.#of(namespace), labels);
    for (const { from, to } of flows)
      for (const { pod } of [from, to])
        if (pod !== undefined) add(this.#of(pod.namespace), stableLabels(pod.labels));
  }

  /** Labels that another set has beside all of these must not be there: else the selector would mean that one too. */
  selector(namespace: string, labels: Labels): SelectorObject {
    const of = this.#of(namespace);
    const text = labelText(labels);
    return getOrMake(of.selectors, text, () => selectorAmong(candidates(of, labels), labels));
  }

  #of(namespace: string): OfNamespace {
    return getOrMake(this.#namespaces, namespace, () => ({
      sets: new Map(),
      having: new Map(),
      selectors: new Map(),
    }));
  }
}

function add({ sets, having }: OfNamespace, labels: Labels): void {
  const text = labelText(labels);
  if (sets.has(text)) return;
  sets.set(text, labels);
  for (const pair of labelTexts(labels)) {
    getOrMake(having, pair, () => []).push(labels);
  }
}

/** Some of the sets, among them all that have these labels: those with the one that fewest have. */
function candidates({ sets, having }: OfNamespace, labels: Labels): Iterable<Labels> {
  const lists = labelTexts(labels).map(pair => having.get(pair) ?? []);
  if (lists.length === 0) return sets.values();
  return lists.reduce((fewest, each) => (each.length < fewest.length ? each : fewest));
}

function selectorAmong(others: Iterable<Labels>, labels: Labels): SelectorObject {
  const own = Object.entries(labels);
  const missing = new Set<string>();
  for (const other of others) {
    if (!own.every(([key, value]) => Object.hasOwn(other, key) && other[key] === value)) continue;
    const more = Object.keys(other).filter(key => !Object.hasOwn(labels, key));
    if (more.length > 0 && !more.some(key => missing.has(key))) missing.add(more.sort()[0]!);
  }
  const matchExpressions = [...missing].sort().map(key => ({ key, operator: 'DoesNotExist' }) as const);
  return {
    ...(own.length > 0 && { matchLabels: labels }),
    ...(matchExpressions.length > 0 && { matchExpressions }),
  };
}
