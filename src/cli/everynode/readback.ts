/** `sluice inspect` and `sluice trace` away from the nodes: the same command on the nodes that can answer. */

import { parseEndpoint } from '../../answers/questions/endpoint.ts';
import type { ClusterView, ResolvedEndpoint } from '../../answers/questions/place.ts';
import { placesOf } from '../../answers/questions/places.ts';
import { groupedBy } from '../../lib/collections/groupedby.ts';
import type { PodKey } from '../../model/cluster.ts';
import { FlowTextError } from '../../semantics/flowtext.ts';
import pc from '../../terminal/colours.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { isData, writeData } from '../../terminal/data.ts';
import { type OutputOptions, writeLines, writeNote } from '../../terminal/output.ts';
import { agentOrCluster } from '../sources/askagent.ts';
import { noteState, readState } from '../sources/readstate.ts';
import { clusterViewOf } from '../sources/state.ts';
import { clusterAgents } from './clusteragents.ts';
import type { WhereOptions } from './command.ts';
import { awayTexts, type NodeAnswer, OWN_SOCKET, objectsOf, runOnNodes } from './onnodes.ts';

export interface ReadbackOptions extends WhereOptions, OutputOptions {
  readonly manifests?: readonly string[];
  /** The node to ask, if not those of the pods. */
  readonly node?: string;
}

/**
 * Whether this machine is not asked: a cluster is named, or nothing here is Sluice's and kubectl has a cluster. Rules
 * outlive their agent, so a machine with rules is a node although no agent answers.
 */
export async function isAskedElsewhere(
  { manifests, ...options }: ReadbackOptions,
  hasRules: () => Promise<boolean>,
): Promise<boolean> {
  if (manifests !== undefined || (await agentOrCluster(options)) !== 'cluster') return false;
  if (options.kubeconfig !== undefined || options.context !== undefined) return true;
  return !(await hasRules().catch(() => false));
}

/** `sluice inspect` of a pod asks its node, and of anything else every node. */
export async function inspectCluster(what: string | undefined, options: ReadbackOptions): Promise<void> {
  const nodes = options.node === undefined ? await nodesOfPod(what, options) : [options.node];
  await relay(['inspect', ...(what === undefined ? [] : [what])], nodes, options);
}

async function nodesOfPod(
  what: string | undefined,
  options: ReadbackOptions,
): Promise<readonly string[] | undefined> {
  if (what === undefined || !/^[^/\s]+\/[^/\s]+$/.test(what)) return undefined;
  const { cluster } = await readState({ ...options, isCluster: true });
  const node = cluster.pods.get(what as PodKey)?.node;
  return node ? [node] : undefined;
}

/** `sluice trace` asks the nodes of both ends: each judges its own pod. */
export async function traceCluster(from: string, to: string, options: ReadbackOptions): Promise<void> {
  const state = await readState({ ...options, isCluster: true }, { workloads: true });
  noteState(state);
  const view = clusterViewOf(state, {});
  const [source, target] = [from, to].map(text => readable(() => tracedEnd(view, text))) as [
    TracedEnd,
    TracedEnd,
  ];
  const nodes = options.node === undefined ? [source.node, target.node] : [options.node];
  const known = nodes.filter(node => node !== undefined);
  if (known.length === 0)
    throw new CommandError(
      `neither ${from} nor ${to} is of a node with pods: trace asks the node of an end, or the one of --node`,
    );
  await relay(['trace', source.text, target.text], known, options);
}

interface TracedEnd {
  /** As the command on a node takes it. */
  readonly text: string;
  readonly node?: string;
}

/** A workload means one of its pods, which is said. */
function tracedEnd(view: ClusterView, text: string): TracedEnd {
  const end = parseEndpoint(text);
  if (end.name.kind === 'service')
    throw new CommandError(`"${text}": a packet goes to a pod behind the Service: trace one of them`);
  const places = placesOf(view, end.name);
  const running = places.find(({ pod }) => pod?.node);
  const node = nodeOf(view, running ?? places[0]);
  const there = { text, ...(node !== undefined && { node }) };
  if (end.name.kind !== 'workload') return there;
  if (running?.pod === undefined) throw new CommandError(`"${text}" has no pod that runs`);
  if (places.length > 1)
    writeNote(`note: ${text} is traced as ${running.pod.key}, one of ${places.length} pods`);
  const family = end.family === undefined ? '' : `@${end.family === 'ip' ? 4 : 6}`;
  const port = end.port === undefined ? '' : `:${end.port}`;
  const protocol = end.protocol === undefined ? '' : `/${end.protocol}`;
  return { ...there, text: `${running.pod.key}${family}${port}${protocol}` };
}

/** Names that mean nothing are the user's to correct, without a stack. */
function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof FlowTextError ? new CommandError(error.message) : error;
  }
}

function nodeOf({ cluster }: ClusterView, place: ResolvedEndpoint | undefined): string | undefined {
  if (place?.pod?.node) return place.pod.node;
  const nodes = [...cluster.nodes.values()];
  return nodes.find(({ addresses }) => addresses.some(each => place?.addresses.includes(each)))?.name;
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
