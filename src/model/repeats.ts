/**
 * Nodes repeat themselves: a kubelet reports its own every five minutes, changed or not, which is sixteen a second of
 * 5,000. What says nothing new goes no further.
 */
import type { Cluster, ClusterEvent } from './cluster.ts';

export function withoutRepeats(
  events: readonly ClusterEvent[],
  { nodes }: Pick<Cluster, 'nodes'>,
): readonly ClusterEvent[] {
  return events.filter(event => event.type !== 'node' || !isSame(event.value, nodes.get(event.key)));
}

/** Plain data that one decoder made, in one order: equal text is equal meaning. */
function isSame(value: object | undefined, known: object | undefined): boolean {
  return value === known || JSON.stringify(value) === JSON.stringify(known);
}
