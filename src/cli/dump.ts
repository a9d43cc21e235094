/** The state of an agent and of its kernel in one file: to be read later, or elsewhere. */

import { versioned } from '../answers/schema.ts';
import type { AgentClient } from '../api/rpc/client.ts';
import { formatRuleset } from '../nft/format/format.ts';
import { CommandError } from '../terminal/commanderror.ts';
import { writeJson } from '../terminal/output.ts';
import { readKernel } from './readkernel.ts';
import type { AgentDump, Dump } from './sources/agent.ts';
import { askAgent } from './sources/askagent.ts';

/** `sluice inspect dump`: one line of JSON. Throws CommandError where neither agent nor kernel answers. */
export async function dumpCommand({ socket }: { readonly socket: string }): Promise<void> {
  const agent = await orMissing(askAgent(socket, ask));
  const kernel = await orMissing(readKernel().then(ruleset => ({ tables: formatRuleset(ruleset) })));
  if ('missing' in agent && 'missing' in kernel)
    throw new CommandError(`${agent.missing}; ${kernel.missing}`);
  const dump: Dump = { at: new Date().toISOString(), agent, kernel };
  writeJson(versioned('Dump', dump));
}

async function ask(agent: AgentClient): Promise<AgentDump> {
  return { status: await agent.status(), state: await agent.state(), names: await agent.names() };
}

async function orMissing<T>(asked: Promise<T>): Promise<T | { readonly missing: string }> {
  return asked.catch((error: Error) => ({ missing: error.message }));
}

/** `sluice inspect names [POD…]`: for a prompt elsewhere, what DNS has answered to these pods, with the clock of this node. */
export async function namesCommand(
  pods: readonly string[],
  { socket }: { readonly socket: string },
): Promise<void> {
  const names = await askAgent(socket, agent => agent.names());
  const own = names.filter(({ pod }) => pods.includes(pod));
  writeJson({ nowMs: Date.now(), names: own });
}
