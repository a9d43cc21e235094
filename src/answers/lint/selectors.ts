/** Warnings about whom policies select, as subject or as peer. */
import { didYouMean } from '../../lib/text/didyoumean.ts';
import { firstOf } from '../../lib/text/firstof.ts';
import { isSelectable, NAMESPACE_NAME_LABEL, type Namespace, namespaceOf } from '../../model/cluster.ts';
import { namespaceOfPolicy, type Policy, type Rule } from '../../model/policy.ts';
import type { Problem } from '../../model/problem.ts';
import {
  type LabelSelector,
  matchNamespace,
  type PodSelector,
  podSelectorText,
  selectorText,
} from '../../model/selector.ts';
import { type Candidate, type Candidates, isWhole, unlessUnread } from './candidates.ts';
import {
  directedRules,
  type Facts,
  MOST_OF_POLICY,
  peersField,
  podSelectorsOf,
  subjectField,
  warning,
} from './facts.ts';

/** N50. A pod that nothing runs yet, as one in a repository, has no address to miss. */
export function noAddress({ cluster }: Facts): readonly Problem[] {
  return [...cluster.pods.values()]
    .filter(pod => isSelectable(pod) && pod.addresses.length === 0 && pod.node !== '')
    .map(({ key }) =>
      warning(
        'no-address',
        `Pod ${key}`,
        'status.podIPs',
        'holds no address',
        'no policy selects the pod until it has one',
      ),
    );
}

const ALWAYS_THERE = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];

export function missingNamespace(policy: Policy, { cluster }: Facts): readonly Problem[] {
  const namespace = namespaceOfPolicy(policy.id);
  // Manifests without any namespace may be policies only, whose namespaces are elsewhere.
  if (namespace === '' || cluster.namespaces.size === 0) return [];
  if (cluster.namespaces.has(namespace) || ALWAYS_THERE.includes(namespace)) return [];
  const message = `"${namespace}" does not exist`;
  const effect = 'the policy selects no pod until it does';
  return [warning('missing-namespace', policy.id, 'metadata.namespace', message, effect)];
}

/**
 * N65: a subject without pods is legal, but worth a warning if there are pods or workloads that it could have meant.
 */
export function emptySubject(policy: Policy, facts: Facts): readonly Problem[] {
  const { candidates } = facts;
  const { id, subject } = policy;
  const makers = candidates.makersFor(subject);
  const misplaced = makers.length > 0 ? [] : meantElsewhere(policy, facts);
  if (misplaced.length > 0) return [wrongNamespace(policy, misplaced)];
  const nowhere = emptyNamespaces(subject, facts);
  if (nowhere !== undefined)
    return [
      warning('empty-subject', id, subjectField(policy), `means ${nowhere}`, 'the policy decides nothing'),
    ];
  if (!candidates.selectsNone(subject) || candidates.maySelectMade(subject)) return [];
  const message = `selects none of the pods and workloads that are there${hintOf(candidates.nearLabel(subject))}`;
  const effect = `the policy decides nothing${unlessUnread(makers)}`;
  return [warning('empty-subject', id, subjectField(policy), message, effect)];
}

export function hintOf(label: string | undefined): string {
  return label === undefined ? '' : ` (did you mean ${label}?)`;
}

/**
 * Pods and workloads of other namespaces that have the labels, where nobody has them in the policy's own. Copies of one
 * policy for many namespaces have one name, and mean nobody else.
 */
function meantElsewhere(policy: Policy, { candidates, copiesOf }: Facts): Candidate[] {
  const { kind, subject } = policy;
  const { namespaces, pods } = subject;
  const isNarrow = pods.requirements.some(({ operator }) => operator === 'In' || operator === 'Exists');
  if (kind !== 'NetworkPolicy' || namespaces.kind !== 'name' || !isNarrow) return [];
  if (candidates.hasSome(subject)) return [];
  const found = candidates.elsewhere(namespaces.name, pods);
  if (found.length === 0) return [];
  const copies = copiesOf(policy);
  return found.filter(({ namespace }) => namespace !== UNNAMED && !copies.has(namespace));
}

/** Objects that name no namespace are of this one, and may be meant for any. */
const UNNAMED = 'default';

function wrongNamespace(policy: Policy, found: readonly Candidate[]): Problem {
  const namespace = namespaceOfPolicy(policy.id);
  const who = firstOf(found, MOST_OF_POLICY, ({ id }) => id);
  const message = `is "${namespace}", where nobody has the labels ${selectorText(policy.subject.pods)}, and ${who} has them`;
  const effect = 'the policy decides nothing: it selects pods of its own namespace alone';
  return warning('wrong-namespace', policy.id, 'metadata.namespace', message, effect);
}

/** N45, N46: policy neither selects pods on the network of their node nor knows them by their labels. */
export function hostNetwork(policy: Policy, { candidates }: Facts): readonly Problem[] {
  const of = (field: string, what: string, effect: string) =>
    warning('host-network', policy.id, field, `${what} on the network of their node`, effect);
  if (candidates.meansOnlyNodes(policy.subject)) {
    const effect = 'policy does not select them, so this one decides nothing';
    return [of(subjectField(policy), 'selects only pods', effect)];
  }
  const effect = 'policy sees them as their nodes: name the addresses of the nodes';
  return [...directedRules(policy)]
    .filter(([, rule]) => podSelectorsOf(rule).some(selector => candidates.meansOnlyNodes(selector)))
    .slice(0, MOST_OF_POLICY)
    .map(([direction, rule]) => of(peersField(direction, rule), 'has a peer of only pods', effect));
}

/** A peer that nobody is, although pods or workloads of its namespaces are there, and all of those are known. */
export function emptyPeer(policy: Policy, facts: Facts): readonly Problem[] {
  const { candidates } = facts;
  const found: Problem[] = [];
  for (const [direction, rule] of directedRules(policy))
    for (const selector of podSelectorsOf(rule)) {
      const nowhere = emptyNamespaces(selector, facts);
      if (nowhere === undefined && !isEmpty(selector, candidates)) continue;
      if (found.length === MOST_OF_POLICY) return found;
      const field = peersField(direction, rule);
      const split = nowhere === undefined ? splitPeer(selector, rule, candidates) : undefined;
      const where = split === undefined ? field : `${field}[${split.item}]`;
      const hint = split === undefined ? hintOf(candidates.nearLabel(selector)) : splitHint(split, field);
      const whom =
        nowhere ?? `none of the pods and workloads that are there: ${podSelectorText(selector)}${hint}`;
      const effect = `the peer matches nothing until there is one${unlessUnread(candidates.makersFor(selector))}`;
      const what = split === undefined ? 'has a peer that means' : 'means';
      found.push(warning('empty-peer', policy.id, where, `${what} ${whom}`, effect));
    }
  return found;
}

function isEmpty(selector: PodSelector, candidates: Candidates): boolean {
  if (!candidates.selectsNone(selector) || !candidates.areKnown(selector.namespaces)) return false;
  return !candidates.maySelectMade(selector);
}

/** A selector of pods and one of namespaces as two items of a list, which mean somebody only as one. */
interface SplitPeer {
  /** The places of the two in the list. */
  readonly item: number;
  readonly namespaces: number;
  readonly meant: Candidate;
}

function splitPeer(selector: PodSelector, { peers }: Rule, candidates: Candidates): SplitPeer | undefined {
  if (peers === 'any' || selector.namespaces.kind !== 'name') return undefined;
  const item = peers.findIndex(peer => peer.kind === 'pods' && peer.selector === selector);
  for (const [i, peer] of peers.entries()) {
    if (peer.kind !== 'pods') continue;
    const { namespaces, pods } = peer.selector;
    if (namespaces.kind === 'name' || pods.requirements.length > 0) continue;
    const [meant] = candidates.selected({ namespaces, pods: selector.pods });
    if (meant !== undefined) return { item, namespaces: i, meant };
  }
  return undefined;
}

function splitHint({ item, namespaces, meant }: SplitPeer, field: string): string {
  const list = field.slice(field.lastIndexOf('.') + 1);
  const areNeighbours = Math.abs(item - namespaces) === 1;
  const second = item > namespaces ? 'podSelector' : 'namespaceSelector';
  const how = areNeighbours ? `remove the \`-\` before ${second}` : 'write both selectors in one item';
  return ` (two items in \`${list}\` mean either one; to mean both in one, as ${meant.id}, ${how})`;
}

/**
 * No namespace has the labels. Another one, of which a folder has nothing, may have them, unless the folder is a whole
 * cluster, or a namespace has the value under another key: `name`, which nobody sets, for `kubernetes.io/metadata.name`.
 */
function emptyNamespaces(selector: PodSelector, facts: Facts): string | undefined {
  const found = namespacesNotThere(selector, facts);
  if (found === undefined || (found.near === undefined && !isWhole(facts.cluster))) return undefined;
  return `namespaces that are not there: ${found.labels}${hintOf(found.near)}`;
}

/** The labels that no namespace has, and what may be meant instead. Undefined where one has them, or where every cluster has one. */
export function namespacesNotThere(
  { namespaces }: PodSelector,
  { cluster, candidates }: Pick<Facts, 'cluster' | 'candidates'>,
): { readonly labels: string; readonly near: string | undefined } | undefined {
  if (namespaces.kind === 'name' || namespaces.selector.requirements.length === 0) return undefined;
  const all = [...cluster.namespaces.values()];
  const names = new Set([...candidates.namespaces, ...all.map(({ name }) => name)]);
  const isMeant = (name: string) => matchNamespace(namespaces, name, namespaceOf(cluster, name)) !== 'no';
  const isElsewhere = namespaces.selector.requirements.some(({ values }) =>
    values.some(value => ALWAYS_THERE.includes(value)),
  );
  if (isElsewhere || [...names].some(isMeant)) return undefined;
  const near = labelWithValue(namespaces.selector, all) ?? misspeltLabel(namespaces.selector, all);
  return { labels: selectorText(namespaces.selector), near };
}

/** A value that a namespace has under the same key but for a letter too many, too few, or in another place. */
function misspeltLabel({ requirements }: LabelSelector, all: readonly Namespace[]): string | undefined {
  for (const { key, operator, values } of requirements) {
    if (operator !== 'In') continue;
    const known = all.flatMap(({ name, labels }) =>
      key === NAMESPACE_NAME_LABEL ? name : (labels[key] ?? []),
    );
    for (const value of values) {
      const near = didYouMean(value, known);
      if (near !== undefined && !areSiblings(value, near)) return `${key}=${near}`;
    }
  }
  return undefined;
}

/** `tenant-a` and `tenant-b`, `prod` and `prod2`: both are meant. */
function areSiblings(one: string, other: string): boolean {
  const letters = (text: string) => [...text].sort().join('');
  return /\d/.test(one + other) || (one.length === other.length && letters(one) !== letters(other));
}

function labelWithValue({ requirements }: LabelSelector, all: readonly Namespace[]): string | undefined {
  for (const { key, operator, values } of requirements)
    for (const { name, labels } of operator === 'In' ? all : []) {
      const entries = Object.entries({ ...labels, [NAMESPACE_NAME_LABEL]: name });
      const found = entries.find(([other, value]) => other !== key && values.includes(value));
      if (found !== undefined && !Object.hasOwn(labels, key)) return found.join('=');
    }
  return undefined;
}
