/** One of the two clusters that are compared. */
import type { Cluster } from '../../../model/cluster.ts';
import type { Inventory } from '../../../model/inventory.ts';
import type { UnknownPods } from '../../../model/podcidrs.ts';
import { ConnectionPool } from '../connections.ts';
import { type Crowd, crowdOf, type ReachPlace } from '../place.ts';
import { imaginedPlaces, reachPlaces } from '../places.ts';
import { type Reach, reachOf } from '../reach.ts';

export interface Side {
  readonly reach: Reach;
  readonly crowd: Crowd;
  /** Of each member its own. */
  readonly places: readonly ReachPlace[];
}

export interface Compared {
  readonly cluster: Cluster;
  readonly inventory: Inventory;
}

export function sidesOf(old: Compared, now: Compared, unknownPods: UnknownPods): readonly [Side, Side] {
  const pool = new ConnectionPool();
  const alongside = [old.cluster, now.cluster];
  const side = ({ cluster, inventory }: Compared): Side => {
    const crowd = crowdOf(cluster, inventory);
    const reach = reachOf(cluster, { unknownPods, imagined: crowd.imagined, pool, alongside });
    return { reach, crowd, places: [...reachPlaces(reach), ...imaginedPlaces(reach)] };
  };
  return [side(old), side(now)];
}
