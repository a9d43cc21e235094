/** A denied connection attempt, as people read of it. Times are milliseconds since 1970. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import type { Address } from '../../model/address.ts';
import type { ContainerPort, Pod, PodKey } from '../../model/cluster.ts';
import type { FlowProtocol } from '../../model/flow.ts';
import type { Labels } from '../../model/labels.ts';
import type { Direction, PolicyId, Tier } from '../../model/policy.ts';

export interface Denial {
  /** Rises with each, as long as the agent lives. */
  readonly number: number;
  readonly atMs: number;
  /** When the last packet of the attempt came. */
  readonly lastMs: number;
  /** Packets of the attempt that were handed over: the first, and those that were sent again. */
  readonly times: number;
  readonly from: DenialEnd;
  readonly to: DenialEnd;
  readonly protocol: FlowProtocol;
  readonly sourcePort?: number;
  readonly port?: number;
  /** The Service that was dialled, if the destination was translated. */
  readonly service?: DialledService;
  /** Names, or patterns of names, for which a DNS answer had given the pod `from` the address `to`. */
  readonly names?: readonly string[];
  readonly icmp?: { readonly type: number; readonly code: number };
  /** The packet that an ICMP error is about: `10.0.0.1 -> 10.0.0.2:80/TCP`. */
  readonly about?: string;
  readonly cause: Cause;
}

/** An end of the connection, with the pod's properties at that time. */
export interface DenialEnd extends PodFacts {
  readonly address: Address;
  readonly pod?: PodKey;
  readonly node?: string;
  /** The pod has gone since, or was about to. */
  readonly gone?: true;
}

export interface DialledService {
  readonly address: Address;
  readonly port?: number;
  /** `shop/web`, if the pod is known. */
  readonly name?: string;
}

/**
 *   policy       a policy of the tier decides, or its isolation
 *   unknown-pod  an address of the pod network that no known pod has
 *   link         a packet that must not come by this interface, whatever policy says
 *   mid-stream   not a first packet, and of a connection that is not tracked
 *   unexplained  the rules denied it, although policy as the agent knows it allows it
 */
type CauseKind = 'policy' | 'unknown-pod' | 'link' | 'mid-stream' | 'unexplained';

export interface Cause {
  readonly kind: CauseKind;
  readonly direction?: Direction;
  readonly tier?: Tier;
  readonly policy?: PolicyId;
  /**
   * All policies that deny it: `policy`, or if no rule matches every NetworkPolicy that isolates. Absent from older
   * agents.
   */
  readonly policies?: readonly PolicyId[];
  /** `ingress[0]`; absent where a NetworkPolicy isolates and no rule matches. */
  readonly rule?: string;
  /** One sentence for a person. */
  readonly reason: string;
}

/** All policies that deny it; empty if no policy does. */
export function deniersOf({ policy, policies }: Cause): readonly PolicyId[] {
  return policies ?? (policy === undefined ? [] : [policy]);
}

// A pod as policy saw it at the time of the connection: it may have changed a second later.

export interface PodFacts {
  /** The node on which the pod runs. */
  readonly nodeName?: string;
  /** The pod's labels; absent where they and its ports are longer than 4 KB of text. */
  readonly labels?: Labels;
  /** Its named ports; absent if it has none, or if `labels` were too long. */
  readonly ports?: readonly ContainerPort[];
}

/**
 * Each connection has the labels of its source and destination: hundreds of labels of one pod would be longer than all
 * other fields.
 */
const LONGEST_TEXT = 4_096;
const known = new WeakMap<Pod, PodFacts>();

export function podFacts(pod: Pod): PodFacts {
  return getOrMake(known, pod, () => factsOf(pod));
}

function factsOf({ node, labels, partial, ports }: Pod): PodFacts {
  const nodeName = node === '' ? {} : { nodeName: node };
  if (partial || JSON.stringify([labels, ports]).length > LONGEST_TEXT) return nodeName;
  return { ...nodeName, labels, ...(ports.length > 0 && { ports }) };
}
