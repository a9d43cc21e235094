/**
 * Connections of which somebody asks whether a change would cut them: what `conntrack -L` prints, a connection a line as
 * `sluice explain --flows` reads it, or with `@agent` those that the pods of this node have open now.
 */

import type { OpenConnections } from '../../api/rpc/messages.ts';
import { parseAddress } from '../../model/address.ts';
import type { Cluster } from '../../model/cluster.ts';
import { type CountedFlow, FlowCounts } from '../../model/countedflows.ts';
import type { Flow } from '../../model/flow.ts';
import { FlowTextError, parseFlow, parseProtocol } from '../../semantics/flowtext.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { askAgent } from '../sources/askagent.ts';
import { readText } from '../sources/files.ts';

/** Throws CommandError where no agent answers. */
export async function readOpenConnections(socket: string): Promise<CountedFlow[]> {
  const open = await askAgent(socket, agent => agent.connections());
  return open.flatMap(recordedOf);
}

/** None where an address of it cannot be read. */
export function recordedOf({ from, to, protocol, port, via_service, count }: OpenConnections): CountedFlow[] {
  const ends = [parseAddress(from), parseAddress(to)] as const;
  if (ends[0] === undefined || ends[1] === undefined) return [];
  const number = Number(protocol);
  const flow: Flow = {
    from: ends[0],
    to: ends[1],
    protocol: Number.isNaN(number) ? (protocol as 'TCP') : number,
    ...(port !== 0 && { port }),
    ...(via_service && { viaService: true }),
  };
  return [{ flow, count }];
}

/** Each as a flow of the old cluster. Throws CommandError where a line is none, or the file cannot be read. */
export async function readRecording(path: string, cluster: Cluster): Promise<CountedFlow[]> {
  const content = await readText(path);
  const counts = new FlowCounts();
  for (const [i, line] of content.split('\n').entries()) {
    const trimmed = line.replace(/#.*/, '').trim();
    if (trimmed !== '') for (const flow of flowsOf(cluster, trimmed, `${path}:${i + 1}`)) counts.add(flow);
  }
  return counts.counted();
}

function flowsOf(cluster: Cluster, line: string, place: string): Flow[] {
  if (/\bsrc=/.test(line)) return trackedFlow(line);
  try {
    return [parseFlow(cluster, line.includes('->') ? line : line.replace(/\s+/, ' -> '))];
  } catch (error) {
    if (error instanceof FlowTextError) throw new CommandError(`${place}: ${error.message}`);
    throw error;
  }
}

/** `tcp 6 431999 ESTABLISHED src=A dst=SERVICE sport=S dport=P src=B dst=A sport=Q …`: who answers is the destination. */
function trackedFlow(line: string): Flow[] {
  const values = (key: string) =>
    [...line.matchAll(new RegExp(`\\b${key}=(\\S+)`, 'g'))].map(([, value]) => value!);
  const [from, to] = values('src').map(parseAddress);
  const name = /\b(tcp|udp|sctp|icmpv6|icmp)\b/.exec(line)?.[1];
  if (from === undefined || to === undefined || name === undefined) return [];
  const protocol = parseProtocol(line, name);
  const port = Number(values('sport')[1]);
  const viaService = values('dst')[0] !== values('src')[1] && { viaService: true };
  return [{ from, to, protocol, ...(protocol !== 'ICMP' && { port }), ...viaService }];
}
