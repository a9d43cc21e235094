/** Who opened the connections that the kernel tracks: asked only where its table is nearly full, since all of it is read. */
import type { Openers, Reading } from '../../kernel/host/facts.ts';
import type { Address } from '../../model/address.ts';
import { type Cluster, isSelectable } from '../../model/cluster.ts';
import type { Conntrack } from '../../nft/conntrack.ts';

// A full table of 262,144 entries takes 0.3 s of CPU to read.
const FRESH_MS = 30_000;

/**
 * What the last reading found, for as long as the table is nearly full; a new one begins where that is too old. Nobody
 * waits for it: whoever probes the agent has less time than a reading takes on a node that is busy with connections.
 */
export function latestOpeners(
  read: () => Promise<Reading<Openers>>,
): (isNearlyFull: boolean) => Reading<Openers> | undefined {
  let last: { readonly atMs: number; found?: Reading<Openers> | undefined } | undefined;
  return isNearlyFull => {
    if (!isNearlyFull) {
      if (last !== undefined) last = { atMs: last.atMs };
      return undefined;
    }
    const nowMs = performance.now();
    if (last === undefined || nowMs - last.atMs > FRESH_MS) {
      const next: typeof last = { atMs: nowMs, found: last?.found };
      last = next;
      void read().then(found => {
        next.found = found;
      });
    }
    return last.found;
  };
}

/** Never throws. Closes what it reads from. */
export async function openersOf(
  open: () => Pick<Conntrack, 'read' | 'close'>,
  cluster: Cluster,
  node: string,
): Promise<Reading<Openers>> {
  try {
    return { value: byPod(await countOpeners(open()), podsOf(cluster, node)) };
  } catch (error) {
    return { unreadable: (error as Error).message };
  }
}

/** No connection is wanted: each is counted where it is looked at, so that nothing is made of a hundred thousand. */
async function countOpeners(conntrack: Pick<Conntrack, 'read' | 'close'>): Promise<Map<Address, number>> {
  const counts = new Map<Address, number>();
  try {
    await conntrack.read(
      'all',
      ({ from }) => {
        counts.set(from, (counts.get(from) ?? 0) + 1);
        return false;
      },
      () => undefined,
    );
  } finally {
    conntrack.close();
  }
  return counts;
}

function byPod(counts: ReadonlyMap<Address, number>, pods: ReadonlyMap<Address, string>): Openers {
  const entries = new Map<string, number>();
  let others = 0;
  for (const [address, count] of counts) {
    const pod = pods.get(address);
    if (pod === undefined) others += count;
    else entries.set(pod, (entries.get(pod) ?? 0) + count);
  }
  const most = [...entries].map(([pod, opened]) => ({ pod, opened })).sort((a, b) => b.opened - a.opened);
  return { pods: most, others };
}

function podsOf({ pods }: Cluster, node: string): Map<Address, string> {
  const local = [...pods.values()].filter(pod => pod.node === node && isSelectable(pod));
  return new Map(
    local.flatMap(({ key, addresses }) => addresses.map((address): [Address, string] => [address, key])),
  );
}
