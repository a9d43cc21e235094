/** `sluice inspect` and `sluice trace` away from the nodes: the same command on the nodes that can answer. */

import { groupedBy } from '../../lib/collections/groupedby.ts';
import { parseAddress } from '../../model/address.ts';
import pc from '../../terminal/colours.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { isData, writeData } from '../../terminal/data.ts';
import { type OutputOptions, writeLines, writeNote } from '../../terminal/output.ts';
import { wantedBy } from '../explain.ts';
import { type Inspected, inspectedBy, isEnd } from '../inspectedpods.ts';
import { orCommandError } from '../orcommanderror.ts';
import { agentOrCluster } from '../sources/askagent.ts';
import { noteStates, readState, writeNotes } from '../sources/readstate.ts';
import { clusterViewOf } from '../sources/state.ts';
import { tracedEnds } from '../traceends.ts';
import { clusterAgents } from './clusteragents.ts';
import type { WhereOptions } from './command.ts';
import { awayTexts, type NodeAnswer, OWN_SOCKET, objectsOf, runOnNodes } from './onnodes.ts';

export interface ReadbackOptions extends WhereOptions, OutputOptions {
  readonly manifests?: readonly string[];
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
}

/**
 * Whether this machine is not asked: a cluster is named, or nothing here is Sluice's and kubectl has a cluster. Rules
 * outlive their agent, so a machine with rules is a node although no agent answers.
 */
export async function isAskedElsewhere(
  { manifests, ...options }: ReadbackOptions,
  hasRules: () => Promise<boolean>,
): Promise<boolean> {
  if (manifests !== undefined) return false;
  if (options.node !== undefined && options.socket === undefined) return true;
  if ((await agentOrCluster(options)) !== 'cluster') return false;
  if (options.kubeconfig !== undefined || options.context !== undefined) return true;
  return !(await hasRules().catch(() => false));
}

/** What `sluice inspect` is asked for, with the namespace of -n. */
export function inspectedNames(
  what: readonly string[],
  { namespace, allNamespaces }: Pick<ReadbackOptions, 'namespace' | 'allNamespaces'>,
): readonly string[] {
  if (namespace === undefined) return what;
  if (what.length === 0) return allNamespaces ? [] : [namespace];
  const named = (text: string) =>
    text.replace(/^(NetworkPolicy )?([^/:\s]+)$/, (_, kind = '', name) => `${kind}${namespace}/${name}`);
  return what.map(text => (parseAddress(text) === undefined ? named(text) : text));
}

/** `sluice inspect` of pods asks their nodes, and of anything else every node. */
export async function inspectCluster(asked: readonly string[], options: ReadbackOptions): Promise<void> {
  const { names, nodes } = await inspectedIn(inspectedNames(asked, options), options);
  await relay(['inspect', ...names], options.node === undefined ? nodes : [options.node], options);
}

async function inspectedIn(
  what: readonly string[],
  options: ReadbackOptions,
): Promise<Pick<Inspected, 'names' | 'nodes'>> {
  if (!what.some(isEnd)) return { names: what };
  const ends = what.filter(isEnd).map(text => ({ from: text, to: text }));
  const state = await readState({ ...options, isCluster: true }, wantedBy(ends));
  const view = clusterViewOf(state, {});
  const found = orCommandError(() => what.map(text => inspectedBy(view, text)));
  writeNotes(found.flatMap(({ note }) => note ?? []));
  const isOfNodes = found.every(({ nodes }) => nodes !== undefined);
  return {
    names: found.flatMap(({ names }) => names),
    ...(isOfNodes && { nodes: found.flatMap(({ nodes = [] }) => nodes) }),
  };
}

/** `sluice trace` asks the nodes of both ends: each judges its own pod. */
export async function traceCluster(from: string, to: string, options: ReadbackOptions): Promise<void> {
  const state = await readState({ ...options, isCluster: true }, wantedBy([{ from, to }]));
  noteStates(state);
  const view = clusterViewOf(state, {});
  const [source, target] = tracedEnds(view, from, to);
  const nodes = options.node === undefined ? [source.node, target.node] : [options.node];
  const known = nodes.filter(node => node !== undefined);
  if (known.length === 0)
    throw new CommandError(
      `neither ${from} nor ${to} is of a node with pods: trace asks the node of an end, or the one of --node`,
    );
  await relay(['trace', source.text, target.text], known, options);
}

/**
 * Runs the command on the nodes and writes what they say. Exit code 1 if one found a difference; 2 if one gave no answer.
 * Where the agent is not root, `keepcaps` gives the command the capabilities to read the kernel.
 */
async function relay(
  words: readonly string[],
  nodes: readonly string[] | undefined,
  options: ReadbackOptions,
): Promise<void> {
  const { output } = options;
  const answers = await runOnNodes(
    await clusterAgents(options),
    ['keepcaps', 'sluice', ...words, OWN_SOCKET, `--output=${output === 'yaml' ? 'json' : output}`],
    { note: writeNote, ...(nodes && { only: nodes }) },
  );
  const [found, failed] = [answers.filter(hasAnswer), answers.filter(each => !hasAnswer(each))];
  const read = isData(output) ? found.map(objectsOf) : [];
  if (isData(output))
    await writeData(
      output,
      read.flatMap(({ objects }) => objects),
    );
  else for (const [at, answer] of found.entries()) writeAnswer(answer, answers.length > 1, at > 0);
  for (const [at, { isWhole }] of read.entries())
    if (!isWhole) writeNote(`node ${found[at]!.node} wrote something that cannot be read`);
  for (const text of awayTexts(answers)) writeNote(text);
  const refused = failed.filter(({ away }) => away === undefined);
  // A pod, a policy or a namespace is on some nodes, and those that have nothing of it have not failed where others have.
  const isElsewhere =
    found.length > 0 && refused.every(({ notes }) => notes.every(note => NOT_HERE.test(note)));
  if (!isElsewhere) for (const text of refusalTexts(refused)) writeNote(text);
  const isMissing =
    failed.length > (isElsewhere ? refused.length : 0) || read.some(({ isWhole }) => !isWhole);
  if (isMissing || found.length === 0) process.exitCode = 2;
  else if (found.some(({ exitCode }) => exitCode === 1)) process.exitCode = 1;
}

/** As `sluice inspect` says that a node has nothing of what was asked for. */
const NOT_HERE = /^sluice: (no pod of this node is |pod \S+ is of this node, and no policy)/;

/** What nodes say in the same words is said once. */
function refusalTexts(refused: readonly NodeAnswer[]): string[] {
  return [...groupedBy(refused, ({ notes }) => notes.join('; '))].map(
    ([text, some]) => `${some.map(({ node }) => node).join(', ')}: ${text.replace(/^sluice: /, '')}`,
  );
}

function hasAnswer({ exitCode }: NodeAnswer): boolean {
  return exitCode === 0 || exitCode === 1;
}

function writeAnswer({ node, lines, notes }: NodeAnswer, isOneOfSeveral: boolean, isNext: boolean): void {
  if (isNext) writeLines(['']);
  if (isOneOfSeveral) writeLines([pc.bold(`on ${node}`)]);
  writeLines(lines);
  for (const note of notes) writeNote(isOneOfSeveral ? `node ${node}: ${note}` : note);
}
