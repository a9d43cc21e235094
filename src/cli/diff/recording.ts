/**
 * Connections that somebody recorded, and which of them a change would cut. A recording is what `conntrack -L` prints,
 * or a connection a line as `sluice explain --flows` reads it.
 */
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { parseAddress } from '../../model/address.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { Flow } from '../../model/flow.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import { evaluator } from '../../semantics/evaluate.ts';
import { FlowTextError, flowText, parseFlow } from '../../semantics/flowtext.ts';
import { CommandError } from '../../terminal/commanderror.ts';

/** A connection that was allowed and is denied, and why. */
export interface Cut {
  readonly flow: string;
  readonly reason: string;
}

/** Each as a flow of the old cluster. Throws CommandError where a line is none, or the file cannot be read. */
export async function readRecording(path: string, cluster: Cluster): Promise<Flow[]> {
  const content =
    path === '-'
      ? await text(process.stdin)
      : await readFile(path, 'utf8').catch(error => {
          throw new CommandError(`cannot read ${path}: ${(error as Error).message}`);
        });
  return content.split('\n').flatMap((line, i) => {
    const trimmed = line.replace(/#.*/, '').trim();
    return trimmed === '' ? [] : flowsOf(cluster, trimmed, `${path}:${i + 1}`);
  });
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

const PROTOCOLS: Readonly<Record<string, Flow['protocol']>> = {
  tcp: 'TCP',
  udp: 'UDP',
  sctp: 'SCTP',
  icmp: 'ICMP',
  icmpv6: 'ICMP',
};

/** `tcp 6 431999 ESTABLISHED src=A dst=SERVICE sport=S dport=P src=B dst=A sport=Q …`: who answers is the destination. */
function trackedFlow(line: string): Flow[] {
  const values = (key: string) =>
    [...line.matchAll(new RegExp(`\\b${key}=(\\S+)`, 'g'))].map(([, value]) => value!);
  const [from, to] = values('src').map(parseAddress);
  const protocol = PROTOCOLS[/\b(tcp|udp|sctp|icmpv6|icmp)\b/.exec(line)?.[1] ?? ''];
  if (from === undefined || to === undefined || protocol === undefined) return [];
  const port = Number(values('sport')[1]);
  const viaService = values('dst')[0] !== values('src')[1] && { viaService: true };
  return [{ from, to, protocol, ...(protocol !== 'ICMP' && { port }), ...viaService }];
}

export function cutsOf(flows: readonly Flow[], old: Cluster, now: Cluster, unknownPods: UnknownPods): Cut[] {
  const [before, after] = [evaluator(old, unknownPods), evaluator(now, unknownPods)];
  return flows.flatMap(flow => {
    if (before(flow).verdict === 'deny') return [];
    const { verdict, egress, ingress } = after(flow);
    if (verdict === 'allow') return [];
    return [{ flow: flowText(flow), reason: (egress.verdict === 'deny' ? egress : ingress).reason }];
  });
}
