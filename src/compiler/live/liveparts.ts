import type { ClusterState } from '../../model/cluster.ts';
import type { LiveClasses } from './classes.ts';
import type { LiveGroups } from './groups/groups.ts';
import type { LivePlacements } from './placements.ts';
import type { PodIndex } from './pods/podindex.ts';

/** The parts of an engine that are passed to its other parts: the cluster, its pods, groups, classes and placements. */
export interface LiveParts {
  readonly state: ClusterState;
  readonly podIndex: PodIndex;
  readonly groups: LiveGroups;
  readonly classes: LiveClasses;
  readonly placements: LivePlacements;
  readonly node: string;
}
