/**
 * The labels by which selectors tell pods apart, as states that begin with none: a state is extended by what a selector
 * demands, and by what one excludes.
 */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { contentText } from '../../lib/text/contenttext.ts';
import { type Cluster, NAMESPACE_NAME_LABEL, type Namespace } from '../../model/cluster.ts';
import type { Operator, Requirement } from '../../model/labels.ts';
import type { PodSelector } from '../../model/selector.ts';

/** The state and all that it can be extended to. */
export function statesFrom(
  words: Words,
  start: State,
  most: number,
): { readonly states: State[]; readonly isCut: boolean } {
  const found = new Set<string>();
  const states: State[] = [];
  const add = (state: State) => {
    const text = textOfLabels(state.labels);
    if (found.size < found.add(text).size) states.push(state);
  };
  add(start);
  for (const state of states)
    for (const condition of words.conditionsFor(state)) {
      if (states.length >= most) return { states, isCut: true };
      for (const next of words.extended(state, condition)) add(next);
    }
  return { states, isCut: false };
}

/** Equal for equal labels, in whatever order they were found. */
function textOfLabels(labels: State['labels']): string {
  const texts: string[] = [];
  for (const [key, value] of labels) texts.push(`${key}=${value}`);
  return texts.sort().join();
}

/** What is known of a pod: its labels and those of its namespace, by `Key`, with values from `Words`. */
export interface State {
  readonly labels: ReadonlyMap<Key, string>;
  /** The name of an existing namespace, whose labels are those that it has. */
  readonly existing?: string;
}

/** A key of a pod's labels, or of its namespace's. */
export type Key = `pod ${string}` | `namespace ${string}`;

export const NAME: Key = `namespace ${NAMESPACE_NAME_LABEL}`;

/** The value of a label that no selector has among its values. */
export const OTHER = '\0';

/** A selector, or a part of one, as requirements on the pod and on its namespace. */
type Condition = readonly Demand[];

interface Demand {
  readonly key: Key;
  readonly operator: Operator;
  readonly values: ReadonlySet<string>;
}

export class Words {
  readonly #clusters: readonly Pick<Cluster, 'namespaces'>[];
  readonly #conditions: readonly Condition[];
  /** For each key and each of its values, the values that every selector treats like it. */
  readonly #alike: ReadonlyMap<Key, ReadonlyMap<string, readonly string[]>>;
  /** Keys that are asked for with any value. */
  readonly #asked: ReadonlySet<Key>;
  /** Conditions by the only namespace that they mean. */
  readonly #byName = new Map<string | undefined, Condition[]>();
  readonly #possible = new Map<string, readonly Condition[]>();
  readonly #ofNamespace = new Map<string, readonly ReadonlyMap<Key, string>[]>();
  readonly #ofNamespaceMarks = new Map<string, readonly string[]>();

  constructor(clusters: readonly Pick<Cluster, 'namespaces'>[], written: readonly Condition[]) {
    this.#clusters = clusters;
    this.#alike = alikeValues(written);
    this.#conditions = written.map(condition => condition.map(demand => this.#shortened(demand)));
    const keys = this.#conditions.flat().flatMap(({ key, operator }) => (operator === 'Exists' ? [key] : []));
    this.#asked = new Set(keys);
    for (const condition of this.#conditions)
      getOrMake(this.#byName, onlyName(condition), () => []).push(condition);
  }

  /** Conditions that the state may be extended by: in an existing namespace those that it can meet. */
  conditionsFor({ labels, existing }: State): readonly Condition[] {
    const name = labels.get(NAME);
    if (name === undefined) return this.#conditions;
    return getOrMake(this.#possible, name, () => {
      const all = [...(this.#byName.get(name) ?? []), ...(this.#byName.get(undefined) ?? [])];
      if (existing === undefined) return all;
      const state = { labels: new Map([[NAME, name]]), existing };
      const holds = (condition: Condition, side: number) =>
        condition.every(
          demand => demand.key.startsWith('pod ') || isMet(demand, this.#valueIn(state, side, demand.key)),
        );
      return all.filter(condition => this.#clusters.some((_, side) => holds(condition, side)));
    });
  }

  /** What a pod in the state surely has, whatever cluster it is in. */
  marksOf({ labels, existing }: State): string[] {
    const marks: string[] = [];
    for (const [key, value] of labels)
      if (existing === undefined || key.startsWith('pod ')) this.#mark(marks, key, value);
    return existing === undefined ? marks : marks.concat(this.#marksOfNamespace(existing));
  }

  #marksOfNamespace(name: string): readonly string[] {
    return getOrMake(this.#ofNamespaceMarks, name, () => {
      const [first, ...others] = this.namespaceLabels(name);
      const marks: string[] = [];
      for (const [key, value] of first!)
        if (others.every(each => each.has(key)))
          this.#mark(marks, key, others.every(each => each.get(key) === value) ? value : OTHER);
      return marks;
    });
  }

  /** That it has the key, where that alone is asked for, and the value, if it is one that a selector has. */
  #mark(marks: string[], key: Key, value: string): void {
    if (this.#asked.has(key)) marks.push(key);
    if (value !== OTHER) marks.push(`${key}=${value}`);
  }

  /** A label of the state in one of the clusters. */
  #valueIn({ labels, existing }: State, side: number, key: Key): string | undefined {
    if (existing === undefined || key.startsWith('pod ')) return labels.get(key);
    return this.namespaceLabels(existing)[side]!.get(key);
  }

  /** The states of the fewest labels that are also as the condition demands; none if there are none but this one. */
  extended(state: State, condition: Condition): readonly State[] {
    for (const demand of condition) {
      const value = state.labels.get(demand.key);
      if (value !== undefined && !isMet(demand, value)) return NO_STATES;
    }
    let found: readonly State[] = [state];
    for (const demand of condition)
      found =
        found.length === 1 ? this.#with(found[0]!, demand) : found.flatMap(each => this.#with(each, demand));
    return found.filter(each => each !== state && this.#isMetIn(each, condition));
  }

  /** Whether a pod in the state is as the condition demands, in any of the clusters. */
  #isMetIn(state: State, condition: Condition): boolean {
    return this.#clusters.some((_, side) =>
      condition.every(demand => isMet(demand, this.#valueIn(state, side, demand.key))),
    );
  }

  #with(state: State, demand: Demand): readonly State[] {
    const { labels, existing } = state;
    const { key, operator, values } = demand;
    if (existing !== undefined && key !== NAME && key.startsWith('namespace ')) return [state];
    if (labels.has(key)) return isMet(demand, labels.get(key)) ? [state] : NO_STATES;
    if (key === NAME && operator === 'Exists') return [state];
    if (operator !== 'In' && operator !== 'Exists') return [state];
    const all = operator === 'Exists' ? [OTHER] : [...values];
    return all.flatMap(value => {
      if (existing === undefined && key === NAME && this.isExisting(value)) return this.#in(state, value);
      return [{ labels: new Map(labels).set(key, value), ...(existing !== undefined && { existing }) }];
    });
  }

  /** In a namespace that has its labels already; none if it has others than the state. */
  #in({ labels }: State, name: string): readonly State[] {
    const fits = (own: ReadonlyMap<Key, string>) => {
      for (const [key, value] of labels) if (!key.startsWith('pod ') && own.get(key) !== value) return false;
      return true;
    };
    if (!this.namespaceLabels(name).some(fits)) return NO_STATES;
    const rest = [...labels].filter(([key]) => key.startsWith('pod '));
    return [{ labels: new Map(rest).set(NAME, name), existing: name }];
  }

  isExisting(name: string): boolean {
    return this.#clusters.some(({ namespaces }) => namespaces.has(name));
  }

  /** The labels of an existing namespace in each of the clusters, as far as selectors know their keys. */
  namespaceLabels(name: string): readonly ReadonlyMap<Key, string>[] {
    return getOrMake(this.#ofNamespace, name, () =>
      this.existing(name).map(({ labels }) => {
        const own = Object.entries({ ...labels, [NAMESPACE_NAME_LABEL]: name }).flatMap(([key, value]) => {
          const values = this.#alike.get(`namespace ${key}`);
          return values === undefined
            ? []
            : [[`namespace ${key}` as const, values.get(value)?.[0] ?? OTHER] as const];
        });
        return new Map<Key, string>(own).set(NAME, name);
      }),
    );
  }

  /** A namespace that one of the clusters lacks is taken to be there as it is in the other. */
  existing(name: string): readonly Namespace[] {
    const known = this.#clusters.map(({ namespaces }) => namespaces.get(name));
    const any = known.find(each => each !== undefined)!;
    return known.map(each => each ?? any);
  }

  get sides(): number {
    return this.#clusters.length;
  }

  /** All values that selectors treat as this one. */
  alike(key: Key, value: string): readonly string[] {
    return this.#alike.get(key)?.get(value) ?? [value];
  }

  /** A value that no selector knows. */
  unknownValue(key: Key): string {
    for (let i = 0; ; i++) if (!this.#alike.get(key)?.has(`any${i}`)) return `any${i}`;
  }

  /** One value stands for all that are alike. */
  #shortened(demand: Demand): Demand {
    const known = this.#alike.get(demand.key)!;
    const first = (value: string) => known.get(value)![0]!;
    const values = [...demand.values];
    if (values.every(value => first(value) === value)) return demand;
    return { ...demand, values: new Set(values.map(first)) };
  }
}

const NO_STATES: readonly State[] = [];

function isMet({ key, operator, values }: Demand, value: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.has(value);
    case 'NotIn':
      return value === undefined || !values.has(value);
    case 'Exists':
      return value !== undefined || key === NAME;
    case 'DoesNotExist':
      return value === undefined && key !== NAME;
  }
}

/** The only namespace that can meet the condition, if there is one. */
function onlyName(condition: Condition): string | undefined {
  const names = condition.find(({ key, operator }) => key === NAME && operator === 'In')?.values;
  return names?.size === 1 ? [...names][0] : undefined;
}

/** The conditions of all selectors, each once, and of what they exclude. */
export function conditionsOf(selectors: readonly PodSelector[]): Condition[] {
  const once = new Map(selectors.map(selector => [contentText(selector), selector]));
  const whole = new Map(
    [...once.values()].map(conditionOf).map(condition => [textOf(condition), condition] as const),
  );
  const excluded = [...whole.values()].flat().flatMap(excludedBy);
  return [...new Map([...whole, ...excluded.map(each => [textOf(each), each] as const)]).values()].filter(
    condition => condition.length > 0,
  );
}

function conditionOf({ namespaces, pods }: PodSelector): Condition {
  const of =
    (whose: 'pod' | 'namespace') =>
    ({ key, operator, values }: Requirement) => ({
      key: `${whose} ${key}` as const,
      operator,
      values: new Set(values),
    });
  const own: Condition =
    namespaces.kind === 'name'
      ? [{ key: NAME, operator: 'In', values: new Set([namespaces.name]) }]
      : namespaces.selector.requirements.map(of('namespace'));
  return [...own, ...pods.requirements.map(of('pod'))];
}

function textOf(condition: Condition): string {
  return condition
    .map(({ key, operator, values }) => JSON.stringify([key, operator, [...values].sort()]))
    .sort()
    .join();
}

/** Pods with a label that a requirement excludes are of other kinds than pods without. */
function excludedBy({ key, operator, values }: Demand): Condition[] {
  if (operator === 'DoesNotExist') return [[{ key, operator: 'Exists', values }]];
  return operator === 'NotIn' ? [[{ key, operator: 'In', values }]] : [];
}

/** For each key and value, the values that stand in the same lists of selectors; each name of a namespace stays alone. */
function alikeValues(conditions: readonly Condition[]): Map<Key, Map<string, string[]>> {
  const lists = new Map<Key, Map<string, number[]>>();
  let number = 0;
  for (const { key, values } of conditions.flat()) {
    const places = getOrMake(lists, key, () => new Map<string, number[]>());
    for (const value of values) getOrMake(places, value, () => []).push(number);
    number++;
  }
  return new Map(
    [...lists].map(([key, places]) => {
      const groups = new Map<string, string[]>();
      for (const [value, where] of places)
        getOrMake(groups, key === NAME ? value : String(where), () => []).push(value);
      return [key, new Map([...groups.values()].flatMap(group => group.map(value => [value, group])))];
    }),
  );
}
