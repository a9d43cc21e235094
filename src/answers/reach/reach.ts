/** Who reaches whom in a cluster, over both families: exact, and computed from the policies alone. */
import type { Family } from '../../model/address.ts';
import type { Cluster } from '../../model/cluster.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import { ConnectionPool } from './connections.ts';
import { FamilyReach } from './family.ts';
import { type ImaginedPod, type Landscape, landscapeOf } from './landscape.ts';

export interface Reach {
  readonly pool: ConnectionPool;
  readonly landscape: Landscape;
  readonly families: Readonly<Record<Family, FamilyReach>>;
}

export interface ReachOptions {
  readonly unknownPods: UnknownPods;
  readonly imagined?: readonly ImaginedPod[];
  /** Two clusters that are compared share one, and each knows of both. */
  readonly pool?: ConnectionPool;
  readonly alongside?: readonly Cluster[];
}

export function reachOf(cluster: Cluster, options: ReachOptions): Reach {
  const { unknownPods, imagined = [], pool = new ConnectionPool(), alongside } = options;
  const landscape = landscapeOf(cluster, unknownPods, imagined, alongside);
  const family = (name: Family) => new FamilyReach(name, pool, landscape);
  return { pool, landscape, families: { ip: family('ip'), ip6: family('ip6') } };
}
