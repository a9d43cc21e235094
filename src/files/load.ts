import { text } from 'node:stream/consumers';
import { ClusterState } from '../model/cluster.ts';
import { type Inventory, inventoryOf } from '../model/inventory.ts';
import type { Problem } from '../model/problem.ts';
import { listManifests, readManifestFile } from './folder.ts';
import { lintCluster } from './lint.ts';
import { type FiledObject, type Manifest, readManifest } from './manifest.ts';
import { ManifestStore } from './store.ts';

export interface LoadedCluster {
  readonly cluster: ClusterState;
  readonly inventory: Inventory;
  readonly problems: readonly Problem[];
}

/** Paths of folders and files, `-` for standard input; all of them are one cluster. */
type Paths = string | readonly string[];

/** Reads manifests once. Throws where a path itself cannot be read. */
export async function loadManifests(paths: Paths): Promise<LoadedCluster> {
  const { cluster, inventory, problems } = await readAll(paths);
  return { cluster, inventory, problems };
}

/** The same, and what is wrong with the cluster as a whole. */
export async function checkManifests(paths: Paths): Promise<LoadedCluster> {
  const { cluster, inventory, problems, objects } = await readAll(paths);
  const services = objects.flatMap(({ serviceNetworks }) => serviceNetworks);
  const places = new Map(objects.toReversed().map(({ object, placeOf }) => [object, placeOf]));
  const warnings = lintCluster(cluster, services).map(problem => ({
    ...places.get(problem.object)?.(problem.field),
    ...problem,
  }));
  return { cluster, inventory, problems: [...problems, ...warnings] };
}

async function readAll(paths: Paths): Promise<LoadedCluster & { readonly objects: readonly FiledObject[] }> {
  const store = new ManifestStore();
  const objects: FiledObject[] = [];
  for await (const [file, manifest] of manifestsOf([paths].flat())) {
    store.put(file, manifest);
    objects.push(...(manifest.objects ?? []));
  }
  const cluster = new ClusterState();
  for (const event of store.flush()) cluster.apply(event);
  const items = objects.map(({ inventory }) => inventory());
  return {
    cluster,
    inventory: inventoryOf(items.flatMap(({ item }) => item ?? [])),
    problems: [...store.problems(), ...items.flatMap(({ problems }) => problems)],
    objects,
  };
}

/** One after another, a file once: the memory that reading takes is that of one file. */
async function* manifestsOf(paths: readonly string[]): AsyncGenerator<readonly [string, Manifest]> {
  const seen = new Set<string>();
  for (const path of paths)
    for (const file of path === '-' ? [path] : await listManifests(path)) {
      if (seen.has(file)) continue;
      seen.add(file);
      yield path === '-'
        ? [STDIN, readManifest(await text(process.stdin), STDIN)]
        : [file, await readManifestFile(file)];
    }
}

const STDIN = 'standard input';
