import type { Flow } from '../model/flow.ts';
import type { Denial } from './denial.ts';

/** As policy saw it. What a pod sends to itself meets no rule, unless it was translated on the way. */
export function flowOfDenial({
  from,
  to,
  protocol,
  port,
}: Pick<Denial, 'from' | 'to' | 'protocol' | 'port'>): Flow {
  return {
    from: from.address,
    to: to.address,
    protocol,
    ...(port !== undefined && { port }),
    ...(from.address === to.address && { viaService: true }),
  };
}
