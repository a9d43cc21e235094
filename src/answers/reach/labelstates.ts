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
    const text = String([...state.labels].map(label => label.join('=')).sort());
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

  /** The labels of the state in one of the clusters. */
  labelsIn({ labels, existing }: State, side: number): ReadonlyMap<Key, string> {
    if (existing === undefined) return labels;
    const pod = [...labels].filter(([key]) => key.startsWith('pod '));
    return new Map([...pod, ...this.namespaceLabels(existing)[side]!]);
  }

  /** The same of one key. */
  #valueIn({ labels, existing }: State, side: number, key: Key): string | undefined {
    if (existing === undefined || key.startsWith('pod ')) return labels.get(key);
    return this.namespaceLabels(existing)[side]!.get(key);
  }

  /** The states of the fewest labels that are also as the condition demands; none if there are none but this one. */
  extended(state: State, condition: Condition): State[] {
    for (const demand of condition)
      if (state.labels.has(demand.key) && !isMet(demand, state.labels.get(demand.key))) return NO_STATES;
    let found: State[] = [state];
    for (const demand of condition) found = found.flatMap(each => this.#with(each, demand));
    return found.filter(
      each =>
        each !== state &&
        this.#clusters.some((_, side) =>
          condition.every(demand => isMet(demand, this.#valueIn(each, side, demand.key))),
        ),
    );
  }

  #with(state: State, demand: Demand): State[] {
    const { labels, existing } = state;
    const { key, operator, values } = demand;
    if (existing !== undefined && key !== NAME && key.startsWith('namespace ')) return [state];
    if (labels.has(key)) return isMet(demand, labels.get(key)) ? [state] : [];
    if (key === NAME && operator === 'Exists') return [state];
    if (operator !== 'In' && operator !== 'Exists') return [state];
    const all = operator === 'Exists' ? [OTHER] : [...values];
    return all.flatMap(value => {
      if (existing === undefined && key === NAME && this.isExisting(value)) return this.#in(state, value);
      return [{ labels: new Map(labels).set(key, value), ...(existing !== undefined && { existing }) }];
    });
  }

  /** In a namespace that has its labels already; none if it has others than the state. */
  #in({ labels }: State, name: string): State[] {
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

  /** Whether a selector asks for the key alone, with any value. */
  hasOther(key: Key): boolean {
    return this.#asked.has(key);
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
  #shortened({ key, operator, values }: Demand): Demand {
    const known = this.#alike.get(key)!;
    return { key, operator, values: new Set([...values].map(value => known.get(value)![0]!)) };
  }
}

const NO_STATES: State[] = [];

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
