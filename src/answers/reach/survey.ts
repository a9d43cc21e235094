/** Everything there is to say of who reaches whom in a cluster: what is there, and what may come. */
import type { Cluster } from '../../model/cluster.ts';
import type { UnknownPods } from '../../model/podcidrs.ts';
import type { ConnectionPool } from './connections.ts';
import { type Exposure, exposuresOf } from './exposure.ts';
import { type ImaginedPod, landscapeOf } from './landscape.ts';
import { type Matrix, matrixOf } from './matrix.ts';
import type { ReachPlace } from './place.ts';
import { imaginedPlaces, joined, reachPlaces } from './places.ts';
import { type Reach, reachOf } from './reach.ts';
import { representativesOf } from './representatives.ts';

export interface Survey {
  readonly reach: Reach;
  readonly matrix: Matrix;
  readonly exposures: readonly Exposure[];
}

/** `templates` are those of workloads that have no pods: they are judged as if they had some. */
export function surveyOf(
  cluster: Cluster,
  templates: readonly ImaginedPod[],
  unknownPods: UnknownPods,
  pool?: ConnectionPool,
): Survey {
  const { selected } = landscapeOf(cluster, unknownPods, templates);
  const representatives = representativesOf(cluster, selector => !selected.of(selector).yes.isEmpty());
  const imagined = [...templates, ...representatives];
  const reach = reachOf(cluster, { unknownPods, imagined, ...(pool && { pool }) });
  const places = imaginedPlaces(reach);
  const absent = places.slice(0, templates.length);
  const others = places.slice(templates.length);
  const pods = joined([...reachPlaces(reach), ...absent]).filter(isOfPods);
  return {
    reach,
    matrix: matrixOf(reach, absent),
    exposures: exposuresOf(
      reach,
      pods,
      representatives.map((each, i) => [each, others[i]!] as const),
    ),
  };
}

function isOfPods({ members }: ReachPlace): boolean {
  return members.some(({ kind }) => kind === 'pod' || kind === 'imagined');
}
