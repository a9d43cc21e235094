/** Turns the flows that scenarios expect into probes with real packets. */
import type { Probe } from '../../../bench/lab/probe/attempt.ts';
import type { LabService } from '../../../bench/lab/services.ts';
import { address } from '../../../bench/lab/topology.ts';
import { familyOf } from '../../../src/model/address.ts';
import type { Flow } from '../../../src/model/flow.ts';

/**
 * All at once; but conntrack knows a protocol without ports by its addresses alone, so that a flow would pass as
 * the answer to the one the other way: each such flow has a round of its own.
 */
export function roundsOf<T extends { readonly flow: Flow }>(tried: readonly T[]): T[][] {
  const alone = tried.filter(({ flow }) => typeof flow.protocol === 'number');
  const together = tried.filter(({ flow }) => typeof flow.protocol !== 'number');
  return [together, ...alone.map(each => [each])];
}

export function probeOf(flow: Flow): Probe {
  const hairpin = hairpinOf(flow);
  return hairpin === undefined ? flow : { ...flow, via: hairpin.front };
}

/** A pod that reaches itself through a Service needs one. */
export function hairpinOf({ from, to, protocol, port, viaService }: Flow): LabService | undefined {
  if (!viaService || from !== to || port === undefined) return undefined;
  const front = address(familyOf(to) === 'ip' ? '198.18.0.1' : '2001:2::1');
  return {
    front: { address: front, port },
    protocol: protocol as LabService['protocol'],
    back: { address: to, port },
  };
}
