/**
 * A recording of the connections of a period, with enough of each to judge it by any policies, anywhere. Connections
 * that no policy can distinguish are one flow with a count. Times are milliseconds since 1970.
 */

import { getOrMake } from '../../lib/collections/getormake.ts';
import type { Address } from '../../model/address.ts';
import type { Namespace, Node, Pod } from '../../model/cluster.ts';
import type { Flow, FlowProtocol } from '../../model/flow.ts';
import type { Labels } from '../../model/labels.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';

/** An end as policy saw it then: an address, and the pod that had it. */
export interface RecordedEnd {
  readonly address: Address;
  readonly pod?: Pod;
}

export interface RecordedFlow {
  readonly from: RecordedEnd;
  readonly to: RecordedEnd;
  readonly protocol: FlowProtocol;
  readonly port?: number;
  readonly viaService?: true;
  /** For an address outside: the names, or patterns of names, for which DNS had given it to the source. */
  readonly names?: readonly string[];
  /** Whether it was let pass then. */
  readonly was: 'allow' | 'deny';
  /** Connections that the source's node saw, and those that the destination's node saw: mostly they are the same. */
  readonly egress: number;
  readonly ingress: number;
  /** How many of these were open already when their node began to record; absent where none was. */
  readonly openEgress?: number;
  readonly openIngress?: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** Labels that pods of a namespace had that opened no connection and answered none. */
export interface SilentPods {
  readonly namespace: string;
  readonly labels: Labels;
}

export interface Recording {
  readonly fromMs: number;
  readonly toMs: number;
  /** The nodes whose agents sent connections. */
  readonly recordedOn: readonly string[];
  /** Nodes with a gap, because their agents were away for a while. */
  readonly missedOn?: readonly string[];
  readonly unknownPods: UnknownPods;
  /** How many new connections were lost; nothing more is known of them. */
  readonly lost: number;
  /**
   * Connections beyond the limits of a recording, by the namespace of the pod that opened them, else of the pod that
   * answers.
   */
  readonly leftOut: ReadonlyMap<string, number>;
  readonly namespaces: ReadonlyMap<string, Namespace>;
  readonly nodes: ReadonlyMap<string, Node>;
  readonly flows: readonly RecordedFlow[];
  readonly silent: readonly SilentPods[];
  /** Whether the end of the file is missing. */
  readonly isCut?: true;
}

/** The number of connections in a flow: both nodes may have seen the same ones. */
export function countOf({ egress, ingress }: Pick<RecordedFlow, 'egress' | 'ingress'>): number {
  return Math.max(egress, ingress);
}

/** The connections of a flow that did not begin while it was recorded. */
export function openBefore(flow: RecordedFlow): number {
  const { openEgress = 0, openIngress = 0 } = flow;
  return Math.min(countOf(flow), Math.max(openEgress, openIngress));
}

/** The counts of a flow, without those that are 0 and may be absent. */
export function countsOf({ egress, ingress, openEgress = 0, openIngress = 0 }: FlowCounts): FlowCounts {
  return {
    egress,
    ingress,
    ...(openEgress > 0 && { openEgress }),
    ...(openIngress > 0 && { openIngress }),
  };
}

export type FlowCounts = Pick<RecordedFlow, 'egress' | 'ingress' | 'openEgress' | 'openIngress'>;

/** A sum within the range of exact integers: numbers in a file may be arbitrarily large. */
export function sum(a: number, b: number): number {
  return Math.min(a + b, Number.MAX_SAFE_INTEGER);
}

/** The flow in the form in which policy judges it. */
export function policyFlow({ from, to, protocol, port, viaService }: RecordedFlow): Flow {
  return {
    from: from.address,
    to: to.address,
    protocol,
    ...(port !== undefined && { port }),
    ...(viaService && { viaService }),
  };
}

const texts = new WeakMap<Pod, string>();

/** Equal for two pods where policy cannot distinguish them, and people would not. */
export function podText(pod: Pod): string {
  const { key, labels, partial = false, node, ports, hostNetwork } = pod;
  return getOrMake(texts, pod, () => JSON.stringify([key, labels, partial, node, ports, hostNetwork]));
}

/** Equal for two flows where they count as one. */
export function recordedFlowKey({
  from,
  to,
  protocol,
  port,
  viaService,
  names,
  was,
}: Omit<RecordedFlow, keyof FlowCounts | 'firstMs' | 'lastMs'>): string {
  const end = ({ address, pod }: RecordedEnd) => `${address} ${pod === undefined ? '' : podText(pod)}`;
  return `${end(from)}\n${end(to)}\n${protocol} ${port} ${viaService ?? ''} ${was} ${names?.join(' ') ?? ''}`;
}

export function connectionsOf({ flows }: Pick<Recording, 'flows'>): number {
  return flows.reduce((count, flow) => sum(count, countOf(flow)), 0);
}
