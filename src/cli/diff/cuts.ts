/** The connections that a change would cut: those that were allowed, and are denied after it. */

import type { OpenConnections } from '../../api/rpc/messages.ts';
import { type Address, parseAddress } from '../../model/address.ts';
import { addressOwners } from '../../model/addressowners.ts';
import type { Cluster } from '../../model/cluster.ts';
import { type CountedFlow, FlowCounts } from '../../model/countedflows.ts';
import type { Flow } from '../../model/flow.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import { recordingJudge } from '../../observe/recording/judge.ts';
import { countOf, policyFlow, type RecordedEnd, type Recording } from '../../observe/recording/recording.ts';
import { evaluator } from '../../semantics/evaluate.ts';
import { flowText, parseFlow, parseProtocol } from '../../semantics/flowtext.ts';
import { orCommandError } from '../orcommanderror.ts';
import { recordingLacks } from '../recording/read.ts';
import { askAgent } from '../sources/askagent.ts';
import { readText } from '../sources/files.ts';

export interface Cuts {
  /** Open now, by the node's agent; else read from a file. */
  readonly isOpenNow: boolean;
  readonly cuts: readonly Cut[];
  /** The number of connections that were judged. */
  readonly judged: number;
  /** Connections that the old policies deny already, as far as is known here: names are known to the node alone. */
  readonly deniedBefore: number;
  /** Notes on what the recording lacks. */
  readonly notes: readonly string[];
}

export interface Cut {
  /** The source and the destination: a pod by its name, else an address. */
  readonly from: string;
  readonly to: string;
  readonly flow: string;
  readonly count: number;
  readonly reason: string;
}

export function cutsOf(
  recorded: readonly CountedFlow[],
  isOpenNow: boolean,
  old: Cluster,
  now: Cluster,
  unknownPods: UnknownPods,
): Cuts {
  const [before, after] = [evaluator(old, unknownPods), evaluator(now, unknownPods)];
  const owners = addressOwners(old);
  const nameOf = (address: Address) => owners.get(address)?.key ?? address;
  const cuts: Cut[] = [];
  let deniedBefore = 0;
  for (const { flow, count } of recorded) {
    const { verdict, egress, ingress } = after(flow);
    if (before(flow).verdict === 'deny') deniedBefore += count;
    else if (verdict === 'deny') {
      const { reason } = egress.verdict === 'deny' ? egress : ingress;
      cuts.push({ from: nameOf(flow.from), to: nameOf(flow.to), flow: flowText(flow), count, reason });
    }
  }
  const judged = recorded.reduce((sum, { count }) => sum + count, 0);
  return { isOpenNow, cuts, judged, deniedBefore, notes: [] };
}

/**
 * Judges each recorded flow with its source and destination as they were then; a flow that was denied then does not
 * count as cut.
 */
export function cutsOfRecording(
  recording: Recording,
  old: Cluster,
  now: Cluster,
  unknownPods?: UnknownPods,
): Cuts {
  const [before, after] = [old, now].map(cluster => recordingJudge(recording, cluster, unknownPods)) as [
    RecordingJudge,
    RecordingJudge,
  ];
  const nameOf = ({ address, pod }: RecordedEnd) => pod?.key ?? address;
  const cuts: Cut[] = [];
  let deniedBefore = 0;
  for (const flow of recording.flows) {
    const count = countOf(flow);
    const { verdict, egress, ingress } = after(flow);
    if (flow.was === 'deny' || before(flow).verdict === 'deny') deniedBefore += count;
    else if (verdict === 'deny') {
      const { reason } = egress.verdict === 'deny' ? egress : ingress;
      const text = flowText(policyFlow(flow));
      cuts.push({ from: nameOf(flow.from), to: nameOf(flow.to), flow: text, count, reason });
    }
  }
  const judged = recording.flows.reduce((sum, flow) => sum + countOf(flow), 0);
  return { isOpenNow: false, cuts, judged, deniedBefore, notes: recordingLacks(recording) };
}

type RecordingJudge = ReturnType<typeof recordingJudge>;

// Connections to check whether a change would cut them: what `conntrack -L` prints, a connection a line as
// `sluice explain --flows` reads it, or with `@agent` those that the pods of this node have open now.

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
  const flow = line.includes('->') ? line : line.replace(/\s+/, ' -> ');
  return [
    orCommandError(
      () => parseFlow(cluster, flow),
      message => `${place}: ${message}`,
    ),
  ];
}

/**
 * `tcp 6 431999 ESTABLISHED src=A dst=SERVICE sport=S dport=P src=B dst=A sport=Q …`: the destination is the address
 * that answers.
 */
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
