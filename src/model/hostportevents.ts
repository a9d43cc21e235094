import type { ClusterEvent } from './cluster.ts';
import { type HostPortMapping, hostPortKey } from './hostport.ts';

/** The events that take mappings away and then put others in their place. */
export function hostPortEvents(
  remove: Iterable<HostPortMapping>,
  add: Iterable<HostPortMapping>,
): ClusterEvent[] {
  return [
    ...Array.from(remove, (value): ClusterEvent => ({ type: 'hostPort', key: hostPortKey(value) })),
    ...Array.from(add, (value): ClusterEvent => ({ type: 'hostPort', key: hostPortKey(value), value })),
  ];
}
