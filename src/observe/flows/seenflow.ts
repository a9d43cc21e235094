/** A new connection that the rules of this node let pass, as people read of it. Times are milliseconds since 1970. */

import type { Family } from '../../model/address.ts';
import type { Flow, FlowProtocol } from '../../model/flow.ts';
import type { Direction } from '../../model/policy.ts';
import type { DenialEnd, DialledService } from '../denials/denial.ts';

export interface SeenFlow {
  /** Rises with each, as long as the agent lives. */
  readonly number: number;
  /** When the agent read about it, some 40 ms after its first packet. */
  readonly atMs: number;
  /** The end that opened it. */
  readonly from: FlowEnd;
  /** The end that answers, after any address translation. */
  readonly to: FlowEnd;
  readonly protocol: FlowProtocol;
  readonly sourcePort?: number;
  readonly port?: number;
  readonly icmp?: { readonly type: number; readonly code: number };
  /** The Service that was dialled, if the destination was translated. */
  readonly service?: DialledService;
  /** Names, or patterns of names, for which a DNS answer had given the pod `from` the address `to`. */
  readonly names?: readonly string[];
  /** The directions that this node judges: egress of its pod `from`, ingress of its pod `to`. */
  readonly directions: readonly Direction[];
  readonly family: Family;
}

export interface FlowEnd extends DenialEnd {
  /** `Deployment shop/web`, as the labels of its controller have it. */
  readonly workload?: string;
}

/** The flow in the form in which policy judges it. */
export function flowOf({ from, to, protocol, port, service }: SeenFlow): Flow {
  return {
    from: from.address,
    to: to.address,
    protocol,
    ...(port !== undefined && { port }),
    ...(service !== undefined && service.address !== to.address && { viaService: true }),
  };
}
