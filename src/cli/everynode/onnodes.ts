/** One command in the pods of the agents of several nodes at once: what it writes is the answer of its node. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { firstOf } from '../../lib/text/firstof.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { DEFAULT_SOCKET } from '../sources/state.ts';
import { type AgentPod, type Agents, MissingRight } from './agents.ts';

export interface NodeAnswer {
  readonly node: string;
  /** What it wrote to standard output, and to standard error. */
  readonly lines: readonly string[];
  readonly notes: readonly string[];
  /** Absent where the command did not run to its end. */
  readonly exitCode?: number;
  /** Why the node gave no answer. */
  readonly away?: string;
}

/** Without it the command would ask the cluster in turn, where the agent of its pod has no socket yet. */
export const OWN_SOCKET = `--socket=${DEFAULT_SOCKET}`;

const MOST_AT_ONCE = 32;
/** Characters of one node's output: more than the rules of a node with the most policies and pods take. */
const MOST_OUTPUT = 16 << 20;
const MOST_NAMED = 5;

/**
 * Asks all nodes, or those that are named, and returns their answers in the order of their names. A node without an
 * agent has an answer too: that it is away. Throws CommandError if the agents cannot be listed, or if every one refuses
 * the caller.
 */
export async function runOnNodes(
  agents: Agents,
  words: readonly string[],
  { only, note }: { readonly only?: readonly string[]; readonly note: (text: string) => void },
): Promise<readonly NodeAnswer[]> {
  const pods = await agentPods(agents);
  const nodes = [...new Set(only ?? [...pods.keys(), ...(await nodesOf(agents, note))])].sort();
  const refusals: MissingRight[] = [];
  const waiting = [...nodes.keys()];
  const answers: NodeAnswer[] = [];
  const askNext = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      answers[next] = await answerOf(agents, nodes[next]!, pods.get(nodes[next]!), words, refusals);
  };
  await Promise.all(Array.from({ length: MOST_AT_ONCE }, askNext));
  const [refusal] = refusals;
  if (refusal !== undefined && answers.every(({ away }) => away !== undefined))
    throw new CommandError(refusal.message);
  return answers;
}

/** The agent of each node; while one is replaced there may be two of a node. */
async function agentPods(agents: Agents): Promise<ReadonlyMap<string, AgentPod>> {
  const pods = await agents.list().catch((error: Error) => {
    throw new CommandError(
      error instanceof MissingRight ? error.message : `the agents cannot be listed: ${error.message}`,
    );
  });
  if (pods.length === 0)
    throw new CommandError('no agent runs in that namespace of the cluster: --agents names another');
  const byNode = new Map<string, AgentPod>();
  for (const pod of pods) if (pod.phase === 'Running' || !byNode.has(pod.node)) byNode.set(pod.node, pod);
  return byNode;
}

async function nodesOf(agents: Agents, note: (text: string) => void): Promise<readonly string[]> {
  try {
    return await agents.nodes();
  } catch (error) {
    note(`it is not known whether every node has an agent: ${(error as Error).message}`);
    return [];
  }
}

async function answerOf(
  agents: Agents,
  node: string,
  pod: AgentPod | undefined,
  words: readonly string[],
  refusals: MissingRight[],
): Promise<NodeAnswer> {
  const [lines, notes]: [string[], string[]] = [[], []];
  if (pod === undefined) return { node, lines, notes, away: 'no agent runs on it' };
  if (pod.phase !== 'Running') return { node, lines, notes, away: `its agent is ${pod.phase}` };
  const tooMuch = new AbortController();
  let [room, exitCode]: [number, number | undefined] = [MOST_OUTPUT, undefined];
  const takeInto = (list: string[]) => (text: string) => {
    room -= text.length;
    if (room < 0) tooMuch.abort();
    else if (text !== '' || list === lines) list.push(text);
  };
  const exit = (code: number) => {
    exitCode = code;
  };
  const sink = { line: takeInto(lines), note: takeInto(notes), exit };
  const why = await agents.run(pod, words, sink, { end: tooMuch.signal }).catch((error: Error) => {
    if (error instanceof MissingRight) refusals.push(error);
    return error.message || 'it cannot be reached';
  });
  if (tooMuch.signal.aborted) return { node, lines: [], notes, away: 'its answer is too long' };
  if (exitCode === undefined) return { node, lines, notes, away: why ?? 'the connection was lost' };
  return { node, lines, notes, exitCode };
}

/** The objects that a node wrote, one a line, as its own: what is no object is left out, and `isWhole` is false then. */
export function objectsOf({ node, lines }: NodeAnswer): {
  readonly objects: object[];
  readonly isWhole: boolean;
} {
  const written = lines.filter(line => line !== '');
  const objects = written.flatMap(line => {
    const value = parsed(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? [{ ...value, node }] : [];
  });
  return { objects, isWhole: objects.length === written.length };
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** A sentence for each reason why nodes are away, with their names. */
export function awayTexts(answers: readonly NodeAnswer[]): string[] {
  const byReason = new Map<string, string[]>();
  for (const { node, away } of answers)
    if (away !== undefined) getOrMake(byReason, away, () => []).push(`node ${node}`);
  return [...byReason].map(([why, nodes]) => `${firstOf(nodes, MOST_NAMED)} gave no answer: ${why}`);
}
