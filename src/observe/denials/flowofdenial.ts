import type { Flow } from '../../model/flow.ts';
import type { Denial } from './denial.ts';

/**
 * The flow as policy saw it. A packet from a pod to itself never leaves the pod, so a denied one was translated on the
 * way, whether or not the kernel reports that.
 */
export function flowOfDenied(
  { from, to, protocol, port }: Pick<Flow, 'from' | 'to' | 'protocol' | 'port'>,
  isTranslated: boolean,
): Flow {
  const viaService = isTranslated || from === to;
  return { from, to, protocol, ...(port !== undefined && { port }), ...(viaService && { viaService }) };
}

export function flowOfDenial(denial: Pick<Denial, 'from' | 'to' | 'protocol' | 'port'>): Flow {
  return flowOfDenied({ ...denial, from: denial.from.address, to: denial.to.address }, false);
}
