/**
 * Leaves out events that change nothing: a kubelet reports its Node every five minutes, changed or not, which is
 * sixteen a second for 5,000 nodes.
 */
import type { Cluster, ClusterEvent } from './cluster.ts';

export function withoutRepeats(
  events: readonly ClusterEvent[],
  { nodes }: Pick<Cluster, 'nodes'>,
): readonly ClusterEvent[] {
  return events.filter(event => event.type !== 'node' || !isSame(event.value, nodes.get(event.key)));
}

/** Objects are plain data that one decoder made, with their fields in one order: equal text means equal content. */
function isSame(value: object | undefined, known: object | undefined): boolean {
  return value === known || JSON.stringify(value) === JSON.stringify(known);
}
