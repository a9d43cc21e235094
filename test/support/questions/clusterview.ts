/** The world of a question from manifests in a test. */
import type { ClusterView } from '../../../src/answers/questions/place.ts';
import { readManifest } from '../../../src/inputs/files/manifest.ts';
import { ClusterState } from '../../../src/model/cluster.ts';
import { inventoryOf } from '../../../src/model/inventory.ts';

export function clusterView(yaml: string, more: Partial<ClusterView> = {}): ClusterView {
  const { objects, problems } = readManifest(yaml, 'test');
  if (objects === undefined || problems.length > 0) throw new Error(JSON.stringify(problems));
  const cluster = new ClusterState();
  for (const { event } of objects) if (event !== undefined) cluster.apply(event);
  const inventory = inventoryOf(objects.flatMap(object => object.inventory().item ?? []));
  return {
    cluster,
    inventory,
    knowsInventory: true,
    defaultNamespace: 'shop',
    unknownPods: 'allow',
    ...more,
  };
}
