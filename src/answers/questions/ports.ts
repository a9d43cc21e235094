import type { Pod } from '../../model/cluster.ts';
import type { Protocol } from '../../model/policy.ts';
import type { Place } from './place.ts';

/** The pod that is at a place, or will be. */
export function podOf({ pod, unplaced }: Place): Pod | undefined {
  return pod ?? unplaced?.pod;
}

/** What the name means in this pod. */
export function namedPort(pod: Pod | undefined, name: string, protocol: Protocol): number | undefined {
  return pod?.ports.find(port => port.name === name && port.protocol === protocol)?.port;
}
