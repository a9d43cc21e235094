/** The open connections of a node's pods. */
import type { Address } from '../../model/address.ts';
import { type CountedFlow, FlowCounts } from '../../model/countedflows.ts';
import type { Flow } from '../../model/flow.ts';
import type { Conntrack } from '../../nft/conntrack.ts';

/** The open connections that have one of these addresses at either end. Closes the socket from which it reads. */
export async function openConnectionsOf(
  conntrack: Pick<Conntrack, 'read' | 'close'>,
  addresses: Iterable<Address>,
): Promise<readonly CountedFlow[]> {
  const own = new Set(addresses);
  const counts = new FlowCounts();
  try {
    const isOwn = ({ from, to }: Flow) => own.has(from) || own.has(to);
    await conntrack.read('all', isOwn, ({ flow }) => counts.add(flow));
  } finally {
    conntrack.close();
  }
  return counts.counted();
}
