/**
 * Reads the cluster for a question: from manifests, a dump, a live cluster or the node's agent. A named source is read;
 * otherwise the agent of this node, or on a machine without one the current cluster of kubectl.
 */
import { foreignNotes } from '../../answers/foreignnotes.ts';
import { answerNotes } from '../../inputs/files/tally.ts';
import { auditedNote } from '../../model/audited.ts';
import { NO_INVENTORY } from '../../model/inventory.ts';
import type { PolicyId } from '../../model/policy.ts';
import { problemText, problemTexts } from '../../model/problem.ts';
import pc from '../../terminal/colours.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { writeNote, writeNoteAtEnd } from '../../terminal/output.ts';
import { noteProblems } from '../../terminal/problems.ts';
import { type KnownCluster, readAgent, readDumped } from './agent.ts';
import { agentOrCluster } from './askagent.ts';
import { holdsNothing, nothingIn, readFiles } from './files.ts';
import { liveNamespace, readLive } from './live.ts';
import { DEFAULT_SOCKET, type QuestionNeeds, type SourceOptions, type State, scopeOf } from './state.ts';
import { LeftOutPolicies } from './without.ts';

/** Throws CommandError where there is nothing to read. */
export async function readState(options: SourceOptions, wanted: QuestionNeeds = {}): Promise<State> {
  const { leftOut, ...state } = withoutPolicies(await readSource(options, wanted), options.without);
  const notes = [...state.notes, ...foreignNotes(state), ...auditedNote(state.cluster), ...leftOut];
  return { ...state, notes };
}

/** Policies that are left out have no status either. */
function withoutPolicies(state: State, names: readonly string[] | undefined) {
  const { scope, source, statuses, hidesPolicies } = state;
  const policies = new LeftOutPolicies(names);
  const cluster = policies.from(state.cluster, scope.defaultNamespace);
  const others = statuses?.filter(({ policy }) => !policies.has(policy as PolicyId, scope.defaultNamespace));
  const leftOut = policies.notes(`in ${source}`, hidesPolicies);
  return { ...state, cluster, ...(others && { statuses: others }), leftOut };
}

async function readSource(options: SourceOptions, wanted: QuestionNeeds): Promise<State> {
  const { manifests, dump } = options;
  if (manifests !== undefined && manifests.length > 0)
    return readManifests(options, manifests, wanted.onText);
  if (dump !== undefined) return fromAgent(options, await readDumped(dump), `the agent's cluster in ${dump}`);
  const asked = options.isCluster ? 'cluster' : await agentOrCluster(options);
  if (asked === 'cluster') return fromLive(options, wanted);
  if (asked !== undefined)
    return fromAgent(options, await readAgent(asked.socket, wanted.addresses), "the agent's cluster");
  throw new CommandError(
    `no agent on this node (${DEFAULT_SOCKET}) and no kubeconfig: name --manifests DIR, --kubeconfig FILE or --socket PATH`,
  );
}

/** Reads manifests. Without paths it is an empty cluster, for `test` files that have their own objects. */
export async function readManifests(
  options: SourceOptions,
  paths: readonly string[],
  onText?: QuestionNeeds['onText'],
): Promise<State> {
  const read = await readFiles(paths, options.namespace, onText);
  const isEmpty = paths.length > 0 && holdsNothing(read);
  const notes = isEmpty ? { notes: [nothingIn(paths, read)] } : answerNotes(read.reading);
  return { ...read, ...notes, knowsInventory: true, source: 'the manifests', scope: scopeOf(options) };
}

function fromAgent(
  options: SourceOptions,
  { cluster, unknownPods, known, statuses }: KnownCluster,
  source: string,
): State {
  const read = { cluster, unknownPods, known, statuses, inventory: NO_INVENTORY, problems: [], notes: [] };
  return { ...read, hidesPolicies: false, knowsInventory: false, source, scope: scopeOf(options) };
}

async function fromLive(options: SourceOptions, wanted: QuestionNeeds): Promise<State> {
  const { kubeconfig, context, agents = 'sluice' } = options;
  const scope = scopeOf(options, await liveNamespace(kubeconfig, context));
  const { workloads = false, services = false, entrances = false, flags = false, namespaces = [] } = wanted;
  const places = [...new Set([...namespaces, scope.defaultNamespace])];
  const kinds = { workloads, services, entrances, namespaces: places, ...(flags && { agents }) };
  const read = await readLive(kinds, kubeconfig, context);
  return { ...read, isLive: true, source: 'the cluster', scope };
}

// What is wrong with what was read, and what an answer lacks by it: on standard error, before the answer.

/** Why no answer is a verdict. */
export const HIDDEN = 'not all policies could be read: what follows is what the others say';

/** Notes on what the answer lacks, for readers of JSON, who do not see the notes on standard error. */
export function notesOf(state: State): readonly string[] {
  return state.hidesPolicies ? [HIDDEN, ...lacksOf(state)] : lacksOf(state);
}

/** The same for answers that mark what depends on policies of other namespaces, where only those could not be read. */
export function notesBeyond(state: State): readonly string[] {
  return state.policiesOnlyOf === undefined ? notesOf(state) : lacksOf(state);
}

/** The notes for answers in which each verdict says by itself that policies are hidden. */
export function lacksOf({ problems, notes, apart }: State): readonly string[] {
  const errors = problemTexts(problems.filter(({ severity }) => severity === 'error'));
  return [...notes, ...errors, ...(apart === undefined ? [] : [apart])];
}

/** Writes the notes of clusters, each note once; `apart` below the answer. */
export function noteStates(...states: readonly State[]): void {
  const problems = new Map(states.flatMap(state => state.problems).map(each => [problemText(each), each]));
  noteProblems([...problems.values()]);
  writeNotes(new Set(states.flatMap(({ notes }) => notes)));
  for (const { apart } of states) if (apart !== undefined) writeNoteAtEnd(noteText(apart));
}

export function writeNotes(notes: Iterable<string>): void {
  for (const note of notes) writeNote(noteText(note));
}

function noteText(note: string): string {
  return `${pc.yellow('note')}: ${note}`;
}
