/** Which addresses that pods were told they are connected to. */
import type { Address } from '../../model/address.ts';
import type { Pair } from '../../names/leases.ts';
import type { Conntrack } from '../../nft/conntrack.ts';

/** A TCP connection that nobody has answered is none; of other protocols an end may be silent. */
export async function connectedPairs(conntrack: Conntrack, pairs: readonly Pair[]): Promise<Pair[]> {
  const asked = new Map(pairs.map(pair => [keyOf(pair.pod, pair.peer), pair]));
  const found = new Set<Pair>();
  await conntrack.read(
    [...new Set(pairs.map(({ pod }) => pod))],
    ({ from, to }) => asked.has(keyOf(from, to)),
    ({ flow: { from, to, protocol }, unreplied }) => {
      if (protocol !== 'TCP' || unreplied !== true) found.add(asked.get(keyOf(from, to))!);
    },
  );
  return [...found];
}

function keyOf(pod: Address, peer: Address): string {
  return `${pod} ${peer}`;
}
