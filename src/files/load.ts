import { ClusterState } from '../model/cluster.ts';
import type { Problem } from '../model/problem.ts';
import { listManifests, readManifestFile } from './folder.ts';
import { lintCluster } from './lint.ts';
import type { FiledObject } from './manifest.ts';
import { ManifestStore } from './store.ts';

export interface LoadedCluster {
  readonly cluster: ClusterState;
  readonly problems: readonly Problem[];
}

/** Reads a folder of manifests, or one file, once. Throws where the path itself cannot be read. */
export async function loadManifests(path: string): Promise<LoadedCluster> {
  const { cluster, problems } = await readAll(path);
  return { cluster, problems };
}

/** The same, and what is wrong with the cluster as a whole. */
export async function checkManifests(path: string): Promise<LoadedCluster> {
  const { cluster, problems, objects } = await readAll(path);
  const services = objects.flatMap(({ serviceNetworks }) => serviceNetworks);
  const places = new Map(objects.toReversed().map(({ object, placeOf }) => [object, placeOf]));
  const warnings = lintCluster(cluster, services).map(problem => ({
    ...places.get(problem.object)?.(problem.field),
    ...problem,
  }));
  return { cluster, problems: [...problems, ...warnings] };
}

async function readAll(path: string): Promise<LoadedCluster & { readonly objects: readonly FiledObject[] }> {
  const store = new ManifestStore();
  const objects: FiledObject[] = [];
  // One after another: the memory that reading takes is that of one file.
  for (const file of await listManifests(path)) {
    const manifest = await readManifestFile(file);
    store.put(file, manifest);
    objects.push(...(manifest.objects ?? []));
  }
  const cluster = new ClusterState();
  for (const event of store.flush()) cluster.apply(event);
  return { cluster, problems: store.problems(), objects };
}
