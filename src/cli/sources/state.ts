/** What a question is asked of. */

import { withApiServer } from '../../answers/questions/apiserver.ts';
import type { ClusterView, Guesses, Masquerade } from '../../answers/questions/place.ts';
import { didYouMean } from '../../lib/text/didyoumean.ts';
import type { Address } from '../../model/address.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { Inventory } from '../../model/inventory.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { StatusText } from '../../model/policystatus.ts';
import type { Problem } from '../../model/problem.ts';
import { type LabelSelector, type Labels, matchesLabels } from '../../model/selector.ts';
import { parseSelector } from '../../model/selectortext.ts';
import type { DnsSnapshot } from '../../names/dnscache.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { orCommandError } from '../orcommanderror.ts';

export interface State {
  readonly cluster: Cluster;
  readonly inventory: Inventory;
  /** The treatment of addresses in pod networks that no known pod has; absent if it is not known. */
  readonly unknownPods?: UnknownPods;
  /** A cluster as its API server has it. */
  readonly isLive?: true;
  /** For a live cluster: the flags of its agents that are not known, so that verdicts which depend on them are undecided. */
  readonly guesses?: Guesses;
  /** Answers of DNS to pods; absent if no agent was asked. */
  readonly known?: DnsSnapshot;
  /** The statuses of policies that are not in force as written; absent if no agent was asked. */
  readonly statuses?: readonly StatusText[];
  /** Problems of the objects that were read. */
  readonly problems: readonly Problem[];
  /**
   * A sentence for each kind of object that could not be read, with the effect on the answer; and the audited policies.
   */
  readonly notes: readonly string[];
  /** What was left out of the manifests: a line below the answer. */
  readonly apart?: string;
  /** There may be policies that could not be read: then no verdict is certain. */
  readonly hidesPolicies: boolean;
  /** The namespaces whose pods all policies that select them could be read of, if others' could not. */
  readonly policiesOnlyOf?: readonly string[];
  /** For a live cluster: whether the caller lacks the right to list this resource, in that namespace. */
  readonly mayNotList?: (plural: string, namespace?: string) => boolean;
  /** Whether Services and workloads were asked for, and could be: a name that is not there does not exist. */
  readonly knowsInventory: boolean;
  /** For manifests: where an object, or a field of it, is written. */
  readonly placeOf?: (object: string, field?: string) => Pick<Problem, 'file' | 'line'>;
  /** `the manifests`, `context kind of the kubeconfig`, `the agent's cluster`. */
  readonly source: string;
  readonly scope: Scope;
}

/** The objects that lists show and names are looked up in. */
export interface Scope {
  /** The namespace of names without one. */
  readonly defaultNamespace: string;
  /** Absent: all of them. */
  readonly namespace?: string;
  /** Absent: objects with any labels. */
  readonly selector?: LabelSelector;
}

/** The namespaces of which all policies are known; undefined where those of all namespaces are. */
export function sureNamespaces({
  hidesPolicies,
  policiesOnlyOf,
}: Pick<State, 'hidesPolicies' | 'policiesOnlyOf'>): readonly string[] | undefined {
  return hidesPolicies ? (policiesOnlyOf ?? []) : undefined;
}

/** Whether lists are limited to a namespace of which all policies are known. */
export function isScopeSure({ namespace }: Scope, sureOf: readonly string[] | undefined): boolean {
  return sureOf === undefined || (namespace !== undefined && sureOf.includes(namespace));
}

/** Throws CommandError where the selector cannot be read. */
export function scopeOf(options: SourceOptions, contextNamespace?: string): Scope {
  const { namespace, allNamespaces, selector } = options;
  return {
    defaultNamespace: namespace ?? contextNamespace ?? 'default',
    ...(namespace !== undefined && !allNamespaces && { namespace }),
    ...(selector !== undefined && { selector: selectorOf(selector) }),
  };
}

function selectorOf(text: string): LabelSelector {
  const selector = parseSelector(text);
  if (selector === undefined)
    throw new CommandError(`"${text}" is not a label selector: write app=web,tier in (a, b),!legacy`);
  return selector;
}

/** Whether a pod, or a pod of a workload, is one that the question is about. */
export function isInScope(
  { namespace, selector }: Scope,
  item: { readonly namespace: string; readonly labels: Labels },
): boolean {
  if (namespace !== undefined && namespace !== item.namespace) return false;
  return selector === undefined || matchesLabels(selector, item.labels);
}

/**
 * Throws CommandError if -n names a namespace that has no objects: otherwise a mistyped name would give an answer
 * without any connection. Policies do not count, because policies without a namespace belong to the one of -n, even a
 * mistyped one.
 */
export function refuseUnknownNamespace({ namespace }: Scope, known: Iterable<string>, where: string): void {
  const names = new Set(known);
  if (namespace === undefined || names.has(namespace)) return;
  const close = didYouMean(namespace, [...names]);
  const hint = close === undefined ? '' : `; did you mean ${close}?`;
  throw new CommandError(`there is no namespace ${namespace} ${where}${hint}`);
}

/** All namespaces: those that exist as objects, and those of pods or workloads. */
export function namespacesOf({ cluster, inventory }: Pick<State, 'cluster' | 'inventory'>): string[] {
  const items = [...cluster.pods.values(), ...inventory.workloads.values()];
  return [...cluster.namespaces.keys(), ...items.map(({ namespace }) => namespace)];
}

/** Whether a pod or workload is in it. */
export function isAnybodyIn(
  scope: Scope,
  { cluster, inventory }: Pick<State, 'cluster' | 'inventory'>,
): boolean {
  return [...cluster.pods.values(), ...inventory.workloads.values()].some(item => isInScope(scope, item));
}

/** The source of the cluster for a question, as given on the command line; the same for every question. */
export interface SourceOptions {
  /** Folders and files of manifests; `-` is standard input. */
  readonly manifests?: readonly string[];
  /** A file that `sluice inspect dump` wrote. */
  readonly dump?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  /** kubectl's own cluster, whether or not an agent is on this node. */
  readonly isCluster?: boolean;
  /** The socket of the node's agent; else the default one, if it exists. */
  readonly socket?: string;
  /** The namespace of names without one, and the one that lists are limited to. */
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
  /** kubectl's selector syntax. */
  readonly selector?: string;
  /** The namespace of the agents of a live cluster. */
  readonly agents?: string;
  /** Policies that are left out: `shop/db`, `cnp:platform`. */
  readonly without?: readonly string[];
}

/**
 * The objects that a question needs besides those that policy sees: others are not read, and no right to read them is
 * required.
 */
export interface QuestionNeeds {
  readonly workloads?: boolean;
  readonly services?: boolean;
  /** Ingresses and routes, and the classes that they are of. */
  readonly entrances?: boolean;
  /** What agents do as they were started may change the answer. */
  readonly flags?: boolean;
  /** The namespaces of the question, for callers who may not list the whole cluster. */
  readonly namespaces?: readonly string[];
  /** Addresses of which an agent is asked by which names they were allowed. */
  readonly addresses?: readonly Address[];
  /** Is given each text of manifests. */
  readonly onText?: (text: string) => void;
}

export const DEFAULT_SOCKET = '/run/sluice/sluice.sock';

/** What a caller may say of the cluster, because no object of it does. */
export interface Assumptions {
  readonly unknownPods?: UnknownPods;
  readonly masquerade?: Masquerade;
  /** Endpoints of the API server, instead of those that objects say: `172.18.0.2:6443`. */
  readonly apiServer?: readonly string[];
}

/** The view of the cluster in which questions are looked up. */
export function clusterViewOf(
  state: State,
  { unknownPods, masquerade, apiServer }: Assumptions,
): ClusterView {
  const { cluster, knowsInventory, known, statuses, scope, policiesOnlyOf } = state;
  const guesses = guessesWith(state, unknownPods);
  return {
    cluster,
    inventory: inventoryWith(state.inventory, apiServer),
    knowsInventory,
    defaultNamespace: scope.defaultNamespace,
    unknownPods: unknownPods ?? state.unknownPods ?? 'allow',
    ...(guesses && { guesses }),
    ...(masquerade && { masquerade }),
    ...(known && { known }),
    ...(statuses && { statuses }),
    ...(state.mayNotList && { mayNotList: state.mayNotList }),
    ...(policiesOnlyOf && { policiesOnlyOf }),
  };
}

/** What is left to guess if the caller has said `unknownPods`. */
export function guessesWith(
  { guesses }: Pick<State, 'guesses'>,
  unknownPods: UnknownPods | undefined,
): Guesses | undefined {
  return guesses && unknownPods !== undefined ? { ...guesses, unknownPods: false } : guesses;
}

/**
 * How answers about all connections judge unknown pods. The agents of a live cluster may deny them, so they are not called
 * allowed there; undefined is what nobody has said.
 */
export function judgedUnknownPods(said: UnknownPods | undefined, guesses: Guesses | undefined): UnknownPods {
  return said ?? (guesses?.unknownPods ? 'deny' : 'allow');
}

/** Throws CommandError where an endpoint of the API server cannot be read. */
export function inventoryWith(inventory: Inventory, apiServer: Assumptions['apiServer']): Inventory {
  return orCommandError(
    () => withApiServer(inventory, apiServer),
    message => `--api-server: ${message}`,
  );
}
