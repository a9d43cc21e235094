/** One command in the pods of the agents of several nodes at once: what it writes is the answer of its node. */

import { groupedBy } from '../../lib/collections/groupedby.ts';
import { firstOf } from '../../lib/text/firstof.ts';
import { jsonOf } from '../../lib/text/jsonof.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { DEFAULT_SOCKET } from '../sources/state.ts';
import {
  type AgentPod,
  type Agents,
  listedAgents,
  MissingRight,
  MOST_AT_ONCE,
  nodesUnknownText,
  podsByNode,
} from './agents.ts';

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
  const listed = await listedAgents(agents);
  const pods = podsByNode(listed);
  const nodes = [...new Set(only ?? [...pods.keys(), ...(await nodesOf(agents, note))])].sort();
  const refusals: MissingRight[] = [];
  const waiting = [...nodes.keys()];
  const answers: NodeAnswer[] = [];
  const askNext = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      answers[next] = await answerOf(agents, nodes[next]!, pods.get(nodes[next]!), words, refusals);
  };
  const asked = only === undefined ? listed : listed.filter(({ node }) => only.includes(node));
  const versions = agents.versionNote?.(asked);
  await Promise.all(Array.from({ length: MOST_AT_ONCE }, askNext));
  const text = await versions;
  if (text !== undefined) note(text);
  const [refusal] = refusals;
  if (refusal !== undefined && answers.every(({ away }) => away !== undefined))
    throw new CommandError(refusal.message);
  return answers;
}

async function nodesOf(agents: Agents, note: (text: string) => void): Promise<readonly string[]> {
  try {
    return await agents.nodes();
  } catch (error) {
    note(nodesUnknownText(error as Error));
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
    const value = jsonOf(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? [{ ...value, node }] : [];
  });
  return { objects, isWhole: objects.length === written.length };
}

/** A sentence for each reason why nodes are away, with their names. */
export function awayTexts(answers: readonly NodeAnswer[]): string[] {
  const away = answers.filter(({ away }) => away !== undefined);
  return [...groupedBy(away, ({ away }) => away!)].map(
    ([why, some]) => `${firstOf(some, MOST_NAMED, ({ node }) => `node ${node}`)} gave no answer: ${why}`,
  );
}
