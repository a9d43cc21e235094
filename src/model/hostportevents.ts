import type { ClusterEvent } from './cluster.ts';
import { type HostPortMapping, hostPortKey } from './hostport.ts';

/** Events that delete mappings and then add others. */
export function hostPortEvents(
  remove: Iterable<HostPortMapping>,
  add: Iterable<HostPortMapping>,
): ClusterEvent[] {
  return [
    ...Array.from(remove, (value): ClusterEvent => ({ type: 'hostPort', key: hostPortKey(value) })),
    ...Array.from(add, (value): ClusterEvent => ({ type: 'hostPort', key: hostPortKey(value), value })),
  ];
}
