/**
 * A recording as lines of JSON: what it is, then namespaces, nodes, labels of silent pods and ends, each end before the flows
 * that name it by its number, and at the end how many flows there were.
 */
import type { Node, Pod } from '../../model/cluster.ts';
import { countsOf, podText, type RecordedEnd, type RecordedFlow, type Recording } from './recording.ts';

export const RECORDING = { apiVersion: 'sluice/v1', kind: 'Recording' } as const;

export function* recordingLines(recording: Recording): Generator<string> {
  yield JSON.stringify(headerOf(recording));
  for (const { name, labels, partial } of recording.namespaces.values())
    yield JSON.stringify({ namespace: { name, labels, ...(partial && { partial }) } });
  for (const node of recording.nodes.values()) yield JSON.stringify({ node: nodeObject(node) });
  for (const silent of recording.silent) yield JSON.stringify({ silent });
  const ends = new Map<string, number>();
  for (const flow of recording.flows) {
    for (const end of [flow.from, flow.to]) {
      const text = endText(end);
      if (ends.has(text)) continue;
      ends.set(text, ends.size);
      yield JSON.stringify({ end: endObject(end) });
    }
    yield JSON.stringify({ flow: flowObject(flow, end => ends.get(endText(end))!) });
  }
  if (!recording.isCut) yield JSON.stringify({ complete: { flows: recording.flows.length } });
}

function headerOf({ fromMs, toMs, recordedOn, missedOn, unknownPods, lost, leftOut }: Recording): object {
  return {
    ...RECORDING,
    fromMs,
    toMs,
    recordedOn,
    ...(missedOn && { missedOn }),
    unknownPods,
    lost,
    leftOut: [...leftOut].map(([namespace, connections]) => ({ namespace, connections })),
  };
}

function nodeObject(node: Node): object {
  const {
    name,
    labels,
    partial,
    addresses,
    podCidrs,
    externalIps,
    interfaceAddresses,
    tunnelAddresses,
    links,
  } = node;
  return {
    name,
    labels,
    ...(partial && { partial }),
    addresses,
    ...(externalIps && { externalIps }),
    podCidrs,
    ...(interfaceAddresses && { interfaceAddresses }),
    ...(tunnelAddresses && { tunnelAddresses }),
    ...(links?.tunnels && { tunnels: links.tunnels }),
    ...(links?.podTunnels && { podTunnels: links.podTunnels }),
  };
}

function endText({ address, pod }: RecordedEnd): string {
  return `${address} ${pod === undefined ? '' : podText(pod)}`;
}

function endObject({ address, pod }: RecordedEnd): object {
  return pod === undefined ? { address } : { address, pod: podObject(pod) };
}

function podObject({ namespace, name, node, labels, partial, ports }: Pod): object {
  return {
    namespace,
    name,
    node,
    labels,
    ...(partial && { partial }),
    ...(ports.length > 0 && { ports }),
  };
}

function flowObject(flow: RecordedFlow, numberOf: (end: RecordedEnd) => number): object {
  const { from, to, protocol, port, viaService, names, was, firstMs, lastMs } = flow;
  return {
    from: numberOf(from),
    to: numberOf(to),
    protocol,
    ...(port !== undefined && { port }),
    ...(viaService && { viaService }),
    ...(names && { names }),
    was,
    ...countsOf(flow),
    firstMs,
    lastMs,
  };
}
