/**
 * Pods that may be created, in kinds: two pods of one kind are the same to every selector of every policy. A kind is
 * described by the fewest labels that make a pod one of it:
 *
 *     any other pod                         no label that a policy knows
 *     ├── namespaces team=a                 what a selector demands
 *     │   └── namespaces team=a, app=web    what two selectors demand together
 *     └── app=web
 *
 * A label that a selector excludes makes a kind as well: with `app!=web` there are pods with `app=web`, and pods without.
 */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { isSameList } from '../../lib/collections/samelist.ts';
import { contentText } from '../../lib/text/contenttext.ts';
import {
  type Cluster,
  type ContainerPort,
  NAMESPACE_NAME_LABEL,
  type Namespace,
} from '../../model/cluster.ts';
import type { Labels, Requirement } from '../../model/labels.ts';
import { type Policy, rulesOf } from '../../model/policy.ts';
import {
  EVERYTHING,
  type NamespaceSelector,
  type PodSelector,
  podSelectorText,
} from '../../model/selector.ts';
import { Bits } from './bits.ts';
import type { ImaginedPod } from './clusterindex.ts';
import { conditionsOf, type Key, NAME, OTHER, type State, statesFrom, Words } from './labelstates.ts';

export interface NewPodKind {
  /** The selector that describes it; pods of narrower kinds match it, too. */
  readonly selector: PodSelector;
  /** Labels of a pod of this kind, and of no narrower one. */
  readonly labels: Labels;
  /** Its namespace in each of the clusters. */
  readonly namespaces: readonly Namespace[];
  /** The kinds whose selectors match its pods, next ones and others, by index. */
  readonly wider: readonly number[];
  readonly allWider: Bits;
  /** Its own index alone. */
  readonly alone: readonly number[];
}

export interface NewPods {
  /** Wider kinds come before narrower ones; the first one has no label that a policy knows. */
  readonly kinds: readonly NewPodKind[];
  /** Whether there are more kinds than were made. */
  readonly isCut: boolean;
  /** What they follow from. */
  readonly asked: Asked;
}

/** The selectors of all policies, each once, and the namespaces of each cluster. */
interface Asked {
  readonly selectors: ReadonlyMap<string, PodSelector>;
  readonly namespaces: readonly Cluster['namespaces'][];
}

/** More kinds would take minutes; their number can grow with the product of all labels. */
const MOST_KINDS = 2_000;

/** The kinds that the policies of any of these clusters distinguish; those of `before` where nothing else is asked. */
export function newPodsOf(clusters: readonly Cluster[], before?: NewPods): NewPods {
  const all = clusters.flatMap(({ policies }) => [...policies.values()].flatMap(selectorsOf));
  const selectors = new Map(all.map(selector => [contentText(selector), selector]));
  const asked = { selectors, namespaces: clusters.map(({ namespaces }) => namespaces) };
  if (before !== undefined && isSameQuestion(asked, before.asked)) return before;
  const words = new Words(clusters, conditionsOf([...selectors.values()]));
  const { states, isCut } = statesFrom(words, { labels: new Map() }, MOST_KINDS);
  return { kinds: kindsOf(words, states), isCut, asked };
}

function isSameQuestion(a: Asked, b: Asked): boolean {
  const isSame = (each: Cluster['namespaces'], i: number) =>
    isSameList([...each.values()], [...(b.namespaces[i]?.values() ?? [])]);
  return isSameList([...a.selectors.keys()], [...b.selectors.keys()]) && a.namespaces.every(isSame);
}

/** What a namespace of this name may be like: the first has no label that these selectors ask for. */
export function possibleNamespaces(
  asking: readonly PodSelector[],
  name: string,
  most: number,
): { readonly namespaces: readonly Namespace[]; readonly isCut: boolean } {
  const selectors = asking.map(({ namespaces }) => ({ namespaces, pods: EVERYTHING }));
  const words = new Words([NO_NAMESPACES], conditionsOf(selectors));
  const { states, isCut } = statesFrom(words, { labels: new Map([[NAME, name]]) }, most);
  return { namespaces: states.map(state => podOf(words, state).namespaces[0]!), isCut };
}

export function selectorsOf(policy: Policy): PodSelector[] {
  return [policy.subject, ...peerSelectors(policy)];
}

export function peerSelectors(policy: Policy): PodSelector[] {
  return rulesOf(policy).flatMap(({ peers }) =>
    peers === 'any' ? [] : peers.flatMap(peer => (peer.kind === 'pods' ? [peer.selector] : [])),
  );
}

const NO_NAMESPACES = { namespaces: new Map<string, Namespace>() };

// States as kinds, wider ones first.

function kindsOf(words: Words, states: readonly State[]): NewPodKind[] {
  const marked = states.map(state => ({ state, marks: words.marksOf(state) }));
  marked.sort((a, b) => a.marks.length - b.marks.length);
  const widerOf = widerFinder(marked.map(({ marks }) => marks));
  const found: NewPodKind[] = [];
  for (const [i, { state, marks }] of marked.entries()) {
    const all = widerOf(i, new Set(marks));
    const next = all.filter(each => !all.some(other => found[other]!.allWider.has(each)));
    found.push({ ...podOf(words, state), wider: next, allWider: Bits.of(states.length, all), alone: [i] });
  }
  return found;
}

/** Finds those before one of which all marks are among its own: each is looked for under its rarest mark alone. */
function widerFinder(
  marks: readonly (readonly string[])[],
): (i: number, own: ReadonlySet<string>) => number[] {
  const counts = new Map<string, number>();
  for (const mark of marks.flat()) counts.set(mark, (counts.get(mark) ?? 0) + 1);
  const byRarest = new Map<string | undefined, number[]>();
  for (const [i, own] of marks.entries()) {
    const rarest = own.toSorted((a, b) => counts.get(a)! - counts.get(b)!)[0];
    getOrMake(byRarest, rarest, () => []).push(i);
  }
  return (i, own) =>
    [undefined, ...own]
      .flatMap(mark => byRarest.get(mark) ?? [])
      .filter(other => other < i && marks[other]!.every(mark => own.has(mark)));
}

function podOf(words: Words, state: State): Omit<NewPodKind, 'wider' | 'allWider' | 'alone'> {
  const of = (whose: 'pod' | 'namespace') =>
    [...state.labels].filter(([key]) => key.startsWith(`${whose} `)) as [Key, string][];
  const keyName = (key: Key) => key.slice(key.indexOf(' ') + 1);
  const labels = (some: readonly [Key, string][]) =>
    Object.fromEntries(
      some.map(([key, value]) => [keyName(key), value === OTHER ? words.unknownValue(key) : value]),
    );
  const requirements = (some: readonly [Key, string][]) =>
    some.map(
      ([key, value]): Requirement =>
        value === OTHER
          ? { key: keyName(key), operator: 'Exists', values: [] }
          : { key: keyName(key), operator: 'In', values: [...words.alike(key, value)] },
    );
  const [pods, namespaces] = [of('pod'), of('namespace')];
  const name = state.labels.get(NAME) ?? '';
  const only = name !== '' && (state.existing !== undefined || namespaces.length === 1);
  const selector: NamespaceSelector = only
    ? { kind: 'name', name }
    : { kind: 'labels', selector: { requirements: requirements(namespaces) } };
  const own = { name, labels: { ...labels(namespaces), [NAMESPACE_NAME_LABEL]: name } };
  return {
    selector: { namespaces: selector, pods: { requirements: requirements(pods) } },
    labels: labels(pods),
    namespaces:
      state.existing === undefined ? Array.from({ length: words.sides }, () => own) : words.existing(name),
  };
}

/** `any other pod`, `pods app=x in namespaces team=a`. */
export function newPodText(selector: PodSelector): string {
  const { namespaces, pods } = selector;
  const isEveryNamespace = namespaces.kind === 'labels' && namespaces.selector.requirements.length === 0;
  return isEveryNamespace && pods.requirements.length === 0 ? 'any other pod' : podSelectorText(selector);
}

/** A pod of each kind, in one of the clusters. */
export function imaginedOf({ kinds }: NewPods, side: number, ports: readonly ContainerPort[]): ImaginedPod[] {
  return kinds.map(({ labels, namespaces }) => ({ namespace: namespaces[side]!, labels, ports }));
}
