/** Flows of a generated cluster as a recording has them. */
import type { Address } from '../../src/model/address.ts';
import type { Cluster } from '../../src/model/cluster.ts';
import type { Flow } from '../../src/model/flow.ts';
import type { UnknownPods } from '../../src/model/podcidrs.ts';
import { RecordingReader } from '../../src/observe/recording/read.ts';
import type { RecordedEnd, RecordedFlow, Recording } from '../../src/observe/recording/recording.ts';
import { surroundingsOf } from '../../src/observe/recording/surroundings.ts';
import { recordingLines } from '../../src/observe/recording/write.ts';
import { evaluatorOf } from '../../src/semantics/evaluate.ts';
import { viewOf } from '../../src/semantics/view.ts';
import { ResolvedTable } from './oracle/resolved.ts';

/** As the policies of the cluster let them pass; to `file` and back. */
export function recorded(cluster: Cluster, unknownPods: UnknownPods, flows: readonly Flow[]): Recording {
  return throughFile(recordingOf(cluster, unknownPods, flows));
}

export function recordingOf(cluster: Cluster, unknownPods: UnknownPods, flows: readonly Flow[]): Recording {
  const view = viewOf(cluster, unknownPods);
  const judge = evaluatorOf(view);
  const end = (address: Address): RecordedEnd => {
    const pod = view.owners.get(address);
    return { address, ...(pod && { pod }) };
  };
  const recordedFlows = flows.map((flow): RecordedFlow => {
    const names = namesOf(cluster, view.owners.get(flow.from)?.key, flow.to);
    return {
      from: end(flow.from),
      to: end(flow.to),
      protocol: flow.protocol,
      ...(flow.port !== undefined && { port: flow.port }),
      ...(flow.viaService && { viaService: true }),
      ...(names.length > 0 && { names }),
      was: judge(flow).verdict,
      egress: 1,
      ingress: 1,
      firstMs: 1,
      lastMs: 2,
    };
  });
  return {
    fromMs: 1,
    toMs: 2,
    recordedOn: ['n1'],
    unknownPods,
    lost: 0,
    leftOut: new Map(),
    flows: recordedFlows,
    ...surroundingsOf(cluster, recordedFlows),
  };
}

function throughFile(recording: Recording): Recording {
  const reader = new RecordingReader();
  for (const line of recordingLines(recording)) reader.add(line);
  return reader.recording();
}

function namesOf({ resolved }: Cluster, pod: string | undefined, address: Address): string[] {
  const entries = resolved instanceof ResolvedTable ? resolved.entries : [];
  const found = entries.filter(entry => entry.pod === pod && entry.address === address);
  return [...new Set(found.map(({ name }) => name))];
}
