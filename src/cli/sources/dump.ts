/** What `sluice inspect dump` wrote. */

import type { StateObject, StatusResponse } from '../../api/rpc/messages.ts';
import type { DnsRecord } from '../../names/dnscache.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { readText } from './files.ts';

/** In the place of what is missing, a sentence says why. */
export interface Dump {
  /** RFC 3339. */
  readonly at: string;
  readonly agent: AgentDump | { readonly missing: string };
  /** The tables of this network namespace in nft's own text. */
  readonly kernel: { readonly tables: string } | { readonly missing: string };
}

export interface AgentDump {
  readonly status: StatusResponse;
  /** Its cluster, each object as JSON. */
  readonly state: readonly StateObject[];
  /** What its pods were told by DNS and that held; absent in dumps of earlier versions. */
  readonly names?: readonly DnsRecord[];
}

/** The agent's part of a dump. Throws CommandError where the file has none. */
export async function readDump(file: string): Promise<AgentDump & Pick<Dump, 'at'>> {
  const { agent, at = '' } = parsed(await readText(file), file);
  if (typeof agent !== 'object' || agent === null) throw notOne(file);
  if ('missing' in agent) throw new CommandError(`${file} holds no cluster: ${agent.missing}`);
  if (!Array.isArray(agent.state) || agent.status === undefined) throw notOne(file);
  return { ...agent, at };
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
