/** Which connections a change would cut: those that were allowed, and are denied. */
import type { Address } from '../../model/address.ts';
import { addressOwners } from '../../model/addressowners.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { CountedFlow } from '../../model/countedflows.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import { recordingJudge } from '../../observe/recording/judge.ts';
import { countOf, policyFlow, type RecordedEnd, type Recording } from '../../observe/recording/recording.ts';
import { evaluator } from '../../semantics/evaluate.ts';
import { flowText } from '../../semantics/flowtext.ts';
import { recordingLacks } from '../recording/read.ts';

export interface Cuts {
  /** Open now, by the node's agent; else read from a file. */
  readonly isOpenNow: boolean;
  readonly cuts: readonly Cut[];
  /** Connections that the old policies deny already, as far as anybody can say here: a name's are known to the node alone. */
  readonly deniedBefore: number;
  /** What the recording lacks. */
  readonly notes: readonly string[];
}

export interface Cut {
  /** Who opened it, and who answers: a pod by its name, else an address. */
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
  return { isOpenNow, cuts, deniedBefore, notes: [] };
}

/** Of a recording, each flow with its ends as they were; what was denied then is cut by nobody. */
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
  return { isOpenNow: false, cuts, deniedBefore, notes: recordingLacks(recording) };
}

type RecordingJudge = ReturnType<typeof recordingJudge>;
