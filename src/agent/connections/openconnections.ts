/** The connections that a node's pods have open, for whoever asks: those between the same ends to the same port as one. */
import type { Address } from '../../model/address.ts';
import type { Flow } from '../../model/flow.ts';
import type { Conntrack } from '../../nft/conntrack.ts';

export interface OpenConnection {
  readonly flow: Flow;
  readonly count: number;
}

/** Of these addresses, at either end. Closes what it reads from. */
export async function openConnectionsOf(
  conntrack: Pick<Conntrack, 'read' | 'close'>,
  addresses: Iterable<Address>,
): Promise<readonly OpenConnection[]> {
  const own = new Set(addresses);
  const found = new Map<string, { flow: Flow; count: number }>();
  try {
    const isOwn = ({ from, to }: Flow) => own.has(from) || own.has(to);
    await conntrack.read('all', isOwn, ({ flow }) => count(found, flow));
  } finally {
    conntrack.close();
  }
  return [...found.values()];
}

function count(found: Map<string, { flow: Flow; count: number }>, flow: Flow): void {
  const { from, to, protocol, port, viaService = false } = flow;
  const key = `${from} ${to} ${protocol} ${port} ${viaService}`;
  const known = found.get(key);
  if (known === undefined) found.set(key, { flow, count: 1 });
  else known.count++;
}
