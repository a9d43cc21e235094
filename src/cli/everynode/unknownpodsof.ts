/** What agents do with unknown pods (N67), asked of themselves where their DaemonSet leaves it to each node. */

import { asMap } from '../../inputs/kube/report/identity.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { unknownPodsOf } from '../sources/agent.ts';
import type { Agents } from './agents.ts';
import { type AgentsOptions, clusterAgents } from './clusteragents.ts';
import { type NodeAnswer, OWN_SOCKET, objectsOf, runOnNodes } from './onnodes.ts';

/** What all of these nodes do; undefined where they differ, or one of them gives no answer. */
export async function unknownPodsOfNodes(
  nodes: readonly string[],
  options: AgentsOptions,
): Promise<UnknownPods | undefined> {
  return unknownPodsFrom(nodes, () => clusterAgents(options));
}

export async function unknownPodsFrom(
  nodes: readonly string[],
  agents: () => Promise<Agents>,
): Promise<UnknownPods | undefined> {
  try {
    const words = ['sluice', 'status', OWN_SOCKET, '--output=json'];
    const asked = { only: nodes, note: () => undefined };
    const answers = await runOnNodes(await agents(), words, asked);
    const [first, ...others] = answers.map(deniesUnknownPods);
    return first === undefined || others.some(each => each !== first) ? undefined : unknownPodsOf(first);
  } catch (error) {
    // A caller without the right to ask agents still gets an answer: the connection is undecided.
    if (error instanceof CommandError) return undefined;
    throw error;
  }
}

/** A node that is not ready may have rules that do not do as it says. */
function deniesUnknownPods(answer: NodeAnswer): boolean | undefined {
  const { kind, deniesUnknownPods: denies } = asMap(objectsOf(answer).objects[0]);
  return answer.exitCode === 0 && kind === 'Status' && typeof denies === 'boolean' ? denies : undefined;
}
