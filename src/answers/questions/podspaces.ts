/** Where a pod that is not there yet may get its address. */
import { type AddressRange, familyOf, networkOf } from '../../model/address.ts';
import { type Cluster, isSelectable } from '../../model/cluster.ts';
import { podCidrsOf } from '../../model/podcidrs.ts';
import { PRIVATE, rangesOf } from './ranges.ts';

/** The networks of the nodes' pods, else those around the pods that are there, else all that is private. */
export function podSpaces(cluster: Cluster): readonly AddressRange[] {
  const given = [...cluster.nodes.values()].flatMap(podCidrsOf);
  if (given.length > 0) return rangesOf(given);
  const pods = [...cluster.pods.values()].filter(isSelectable);
  const around = pods.flatMap(({ addresses }) =>
    addresses.map(address => networkOf(address, familyOf(address) === 'ip' ? 24 : 64)),
  );
  return around.length > 0 ? rangesOf(around) : PRIVATE;
}
