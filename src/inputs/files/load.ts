import { text } from 'node:stream/consumers';
import { withEnforced } from '../../model/audited.ts';
import { type Cluster, ClusterState } from '../../model/cluster.ts';
import { type Inventory, inventoryOf } from '../../model/inventory.ts';
import { POLICY_KINDS } from '../../model/policy.ts';
import { type Problem, problemText } from '../../model/problem.ts';
import { topWorkloads } from '../../model/workloadof.ts';
import type { ObjectType } from '../kube/report/identity.ts';
import { listManifests, readManifestFile } from './folder.ts';
import { lintCluster } from './lint.ts';
import { type FiledObject, isError, type Manifest, readAllDocuments, readManifest } from './manifest.ts';
import { ManifestStore } from './store.ts';

export interface LoadedCluster {
  readonly cluster: ClusterState;
  readonly inventory: Inventory;
  readonly problems: readonly Problem[];
  /** A file or a policy could not be read at all: what it says is not in the cluster. */
  readonly hidesPolicies: boolean;
}

/** Paths of folders and files, `-` for standard input; all of them are one cluster. */
type Paths = string | readonly string[];

/** Called with the number of files that were read so far. */
type Progress = (files: number) => void;

/** Reads manifests once; `namespace` is that of objects that name none. Throws where a path itself cannot be read. */
export async function loadManifests(
  paths: Paths,
  progress?: Progress,
  namespace?: string,
): Promise<LoadedCluster> {
  const read: Reader = (text, file) => readManifest(text, file, namespace);
  const { objects: _, ...loaded } = await readAll(paths, read, progress);
  return loaded;
}

/** The same, and all that is wrong: with every document, and with the cluster as a whole. */
export async function checkManifests(
  paths: Paths,
  more: (cluster: Cluster, inventory: Inventory) => readonly Problem[] = () => [],
  namespace?: string,
): Promise<LoadedCluster> {
  const { objects, ...loaded } = await readAll(paths, (text, file) =>
    readAllDocuments(text, file, namespace),
  );
  const { cluster, inventory, problems } = loaded;
  const services = objects.flatMap(({ serviceNetworks }) => serviceNetworks);
  const places = new Map(objects.toReversed().map(({ object, placeOf }) => [object, placeOf]));
  const lint = (each: Cluster) => [
    ...lintCluster(each, services, topWorkloads(inventory)),
    ...more(each, inventory),
  ];
  const now = lint(cluster);
  // The author of an audited policy wants to know beforehand what is wrong with it, and it may not hide what is wrong now.
  const then = (cluster.audited?.size ?? 0) === 0 ? [] : lint(withEnforced(cluster));
  const known = new Set(now.map(problemText));
  const found = [...now, ...then.filter(problem => !known.has(problemText(problem)))];
  const warnings = found.map(problem => ({
    ...places.get(problem.object)?.(problem.field),
    ...problem,
  }));
  const others = objects.flatMap(({ type, name, placeOf }) => {
    const found = otherEngine(type, name);
    return found === undefined ? [] : [{ ...placeOf(found.field), ...found }];
  });
  return { ...loaded, problems: [...problems, ...warnings, ...others] };
}

async function readAll(
  paths: Paths,
  read: Reader,
  progress: Progress = () => {},
): Promise<LoadedCluster & { readonly objects: readonly FiledObject[] }> {
  const store = new ManifestStore();
  const objects: FiledObject[] = [];
  let files = 0;
  let hidesPolicies = false;
  for await (const [file, manifest] of manifestsOf([paths].flat(), read)) {
    store.put(file, manifest);
    for (const object of manifest.objects ?? []) objects.push(object);
    hidesPolicies ||= manifest.objects?.some(isLostPolicy) ?? true;
    progress(++files);
  }
  const cluster = new ClusterState();
  for (const event of store.flush()) cluster.apply(event);
  const items = objects.map(({ inventory }) => inventory());
  const problems = [...store.problems(), ...items.flatMap(({ problems }) => problems)];
  return {
    cluster,
    inventory: inventoryOf(items.flatMap(({ item }) => item ?? [])),
    problems: problems.map(readOnce),
    objects,
    hidesPolicies,
  };
}

/** Whether the object is a policy whose problems left nothing to judge by. */
function isLostPolicy({ event, problems, type: { kind = '' } }: FiledObject): boolean {
  if (event !== undefined || !problems.some(isError)) return false;
  return POLICY_KINDS.some(each => each.toLowerCase() === kind.toLowerCase());
}

/** Nothing was read before, so nothing stays as it was. */
function readOnce(problem: Problem): Problem {
  const effect = problem.effect
    .replace('file ignored; the previous version stays', 'nothing of it is read')
    .replace('; if it was good before, its last good version stays in force', '')
    .replace(/^the (\w+) stays as it was last known$/, 'the $1 is not known');
  return { ...problem, effect };
}

type Reader = (text: string, file: string) => Manifest;

/** One after another, a file once: the memory that reading takes is that of one file. */
async function* manifestsOf(
  paths: readonly string[],
  read: Reader,
): AsyncGenerator<readonly [string, Manifest]> {
  const seen = new Set<string>();
  for (const path of paths)
    for (const file of path === '-' ? [path] : await listManifests(path)) {
      if (seen.has(file)) continue;
      seen.add(file);
      yield path === '-'
        ? [STDIN, read(await text(process.stdin), STDIN)]
        : [file, await readManifestFile(file, read, LARGEST_READ_ONCE, file === path)];
    }
}

const STDIN = 'standard input';

/** Enough for kubectl's output of all pods of a large cluster, which is read only once. */
const LARGEST_READ_ONCE = 256 * 1024 * 1024;

/**
 * Policies of other engines. Sluice does not read them, but their author believes that they are in force, so a warning
 * is given.
 */
const ENGINES: readonly (readonly [group: RegExp, engine: string])[] = [
  [/^cilium\.io\//, 'Cilium'],
  [/^(crd\.)?projectcalico\.org\//, 'Calico'],
  [/^(crd|security)\.antrea\.(io|tanzu\.vmware\.com)\//, 'Antrea'],
  [/^k8s\.ovn\.org\//, 'OVN-Kubernetes'],
];

const POLICIES = /Policy$|^EgressFirewall$|^Tier$/;

function otherEngine({ apiVersion = '', kind = '' }: ObjectType, name: string): Problem | undefined {
  const [, engine] = ENGINES.find(([group]) => group.test(apiVersion)) ?? [];
  if (engine === undefined || !POLICIES.test(kind)) return undefined;
  return {
    severity: 'warning',
    code: 'other-engine',
    object: `${kind} ${name}`,
    field: 'apiVersion',
    message: `is ${apiVersion}, a policy of ${engine}`,
    effect: 'Sluice does not enforce it, and no answer knows of it',
  };
}
