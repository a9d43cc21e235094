/** The state of an agent and of its kernel in one file: for whoever looks into it later, or elsewhere. */
import { readFile } from 'node:fs/promises';
import { formatRuleset } from '../nft/format/format.ts';
import type { AgentClient } from '../rpc/client.ts';
import type { StateObject, StatusResponse } from '../rpc/messages.ts';
import { CommandError } from '../terminal/commanderror.ts';
import { writeJson } from '../terminal/output.ts';
import { askAgent } from './askagent.ts';
import { readKernel } from './readkernel.ts';

/** In the place of what is missing, a sentence says why. */
export interface Dump {
  /** RFC 3339. */
  readonly at: string;
  readonly agent: AgentDump | { readonly missing: string };
  /** The tables of this network namespace in nft's own text. */
  readonly kernel: { readonly tables: string } | { readonly missing: string };
}

interface AgentDump {
  readonly status: StatusResponse;
  /** Its cluster, each object as JSON. */
  readonly state: readonly StateObject[];
}

/** `sluice inspect dump`: one line of JSON. Throws CommandError where neither agent nor kernel answers. */
export async function dumpCommand({ socket }: { readonly socket: string }): Promise<void> {
  const agent = await orMissing(askAgent(socket, ask));
  const kernel = await orMissing(readKernel().then(ruleset => ({ tables: formatRuleset(ruleset) })));
  if ('missing' in agent && 'missing' in kernel)
    throw new CommandError(`${agent.missing}; ${kernel.missing}`);
  const dump: Dump = { at: new Date().toISOString(), agent, kernel };
  writeJson(dump);
}

async function ask(agent: AgentClient): Promise<AgentDump> {
  return { status: await agent.status(), state: await agent.state() };
}

async function orMissing<T>(asked: Promise<T>): Promise<T | { readonly missing: string }> {
  return asked.catch((error: Error) => ({ missing: error.message }));
}

/** The agent's part of a dump. Throws CommandError where the file has none. */
export async function readDump(file: string): Promise<AgentDump> {
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new CommandError(`${file} cannot be read: ${error.message}`);
  });
  const { agent } = parsed(text, file);
  if (typeof agent !== 'object' || agent === null) throw notOne(file);
  if ('missing' in agent) throw new CommandError(`${file} holds no cluster: ${agent.missing}`);
  if (!Array.isArray(agent.state) || agent.status === undefined) throw notOne(file);
  return agent;
}

function parsed(text: string, file: string): Partial<Dump> {
  try {
    const value = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value;
  } catch {}
  throw notOne(file);
}

function notOne(file: string): CommandError {
  return new CommandError(`${file} is not what \`sluice inspect dump\` writes`);
}
