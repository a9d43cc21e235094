/** The two clusters of `sluice diff`: paths, `-`, `@cluster` or `@agent`, each on top of what both have in common. */

import type { Guesses } from '../../answers/questions/place.ts';
import type { Compared } from '../../answers/reach/diff/units.ts';
import { ClusterState } from '../../model/cluster.ts';
import { clusterEvents } from '../../model/clusterevents.ts';
import { mergedInventory } from '../../model/inventory.ts';
import { problemText } from '../../model/problem.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { noteStates, notesBeyond, readState, writeNotes } from '../sources/readstate.ts';
import {
  DEFAULT_SOCKET,
  namespacesOf,
  type SourceOptions,
  type State,
  sureNamespaces,
} from '../sources/state.ts';
import { LeftOutPolicies } from '../sources/without.ts';

export type SideOptions = Pick<
  SourceOptions,
  'kubeconfig' | 'context' | 'socket' | 'agents' | 'namespace' | 'allNamespaces' | 'selector' | 'without'
> & {
  /** Objects for both sides. An object of a side replaces one of these with the same name. */
  readonly with?: readonly string[];
};

export interface Sides {
  readonly old: Compared;
  readonly now: Compared;
  readonly unknownPods: State['unknownPods'];
  /** What the agents of a live cluster do as they were started, and is not known. */
  readonly guesses?: Guesses;
  /** The namespaces of both sides and of `--with`; absent if the caller may not list them. */
  readonly namespaces?: readonly string[];
  /** The namespaces of which all policies are known; absent where those of all namespaces are. */
  readonly sureOf?: readonly string[];
  /** Notes on what either side, or the objects for both, lack. */
  readonly notes: readonly string[];
}

/** Throws CommandError if a side cannot be read, or if both are standard input. */
export async function readSides(oldName: string, newName: string, options: SideOptions): Promise<Sides> {
  const names = [...(options.with ?? []), oldName, newName];
  if (names.filter(name => name === '-').length > 1)
    throw new CommandError('standard input (-) can be read only once');
  const states = new Map<string, State>();
  for (const name of new Set(names)) states.set(name, await readSide(name, options));
  noteStates(...states.values());
  const base = (options.with ?? []).map(name => states.get(name)!);
  const policies = new LeftOutPolicies(options.without);
  const { defaultNamespace } = states.get(oldName)!.scope;
  const side = (name: string) => {
    const { cluster, inventory } = layered([states.get(name)!, ...base]);
    return { cluster: policies.from(cluster, defaultNamespace), inventory };
  };
  const [old, now] = [side(oldName), side(newName)];
  const leftOut = policies.notes('on either side', false);
  writeNotes(leftOut);
  const unknownPods = [...states.values()].find(state => state.unknownPods !== undefined)?.unknownPods;
  const notes = [...new Set([...states.values()].flatMap(notesBeyond)), ...leftOut];
  const isListed = ![...states.values()].some(state => state.mayNotList?.('namespaces'));
  const namespaces = isListed ? { namespaces: [...states.values()].flatMap(namespacesOf) } : {};
  const sureOf = sureOfAll([...states.values()]);
  const { guesses } = [...states.values()].find(state => state.guesses !== undefined) ?? {};
  const known = { ...(guesses && { guesses }), ...namespaces, ...(sureOf && { sureOf }) };
  return { old, now, unknownPods, ...known, notes };
}

function sureOfAll(states: readonly State[]): readonly string[] | undefined {
  const [first, ...others] = states.map(sureNamespaces).filter(each => each !== undefined);
  return first?.filter(namespace => others.every(each => each.includes(namespace)));
}

async function readSide(name: string, options: SideOptions): Promise<State> {
  const state = await readState(sourceOf(name, options), { workloads: true, flags: true });
  if (sureNamespaces(state)?.length === 0)
    throw new CommandError(
      `${name}: not all policies can be read, so changes cannot be determined${problemsText(state)}`,
    );
  return state;
}

/** The first problem of each side that keeps a file from being read. */
function problemsText({ problems }: State): string {
  const first = problems.find(({ severity }) => severity === 'error');
  return first === undefined ? '' : `: ${problemText(first)}`;
}

function sourceOf(
  name: string,
  { kubeconfig, context, socket, agents, namespace }: SideOptions,
): SourceOptions {
  const common = namespace === undefined ? {} : { namespace };
  if (name === '@agent') return { ...common, socket: socket ?? DEFAULT_SOCKET };
  if (name !== '@cluster') return { ...common, manifests: [name] };
  const where = { ...(kubeconfig && { kubeconfig }), ...(context && { context }), ...(agents && { agents }) };
  return { ...common, isCluster: true, ...where };
}

/** If several objects have one name, the first counts. */
function layered(states: readonly State[]): Compared {
  const cluster = new ClusterState();
  for (const state of states.toReversed()) {
    for (const event of clusterEvents(state.cluster)) cluster.apply(event);
  }
  return { cluster, inventory: mergedInventory(states.toReversed().map(({ inventory }) => inventory)) };
}
