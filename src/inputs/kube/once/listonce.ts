/** Reads a cluster once, with the caller's own rights: what may not be read is named, and all else is read. */
import { ownSignal } from '../../../lib/async/ownsignal.ts';
import type { ClusterEvent } from '../../../model/cluster.ts';
import type { InventoryItem } from '../../../model/inventory.ts';
import type { Problem } from '../../../model/problem.ts';
import type { Api } from '../client/api.ts';
import { ApiError } from '../client/apierror.ts';
import { decodeDelivered, isOfType } from '../decode/delivered.ts';
import { decodeInventory } from '../decode/inventory.ts';
import { listPages } from '../watch/listpage.ts';
import { NAMESPACES, NETWORK_POLICIES, NODES, type Resource } from '../watch/resource.ts';
import {
  namespacedResource,
  PODS_AND_OWNERS,
  pluralOf,
  SERVICE_RESOURCES,
  WORKLOADS,
} from './askedresources.ts';
import { customResources } from './customresources.ts';
import { type Lack, lackOf } from './lack.ts';
import { MeasuredApi, MOST_READ } from './measure.ts';

export interface ListedKinds {
  readonly workloads: boolean;
  readonly services: boolean;
  /** Where to look when the whole cluster may not be listed. */
  readonly namespaces: readonly string[];
}

export interface ReadOnce {
  readonly events: readonly ClusterEvent[];
  readonly items: readonly InventoryItem[];
  readonly problems: readonly Problem[];
  readonly lacks: readonly Lack[];
}

/** Hears how many objects of a kind were read so far. */
export type ListProgress = (resource: string, count: number) => void;

/**
 * All lists at once: one that fails ends the others. Throws ApiError where the server cannot be reached, does not know
 * the caller, or answers without end.
 */
export async function listOnce(
  server: Api,
  wanted: ListedKinds,
  progress: ListProgress,
  signal: AbortSignal,
  most = MOST_READ,
): Promise<ReadOnce> {
  const failed = new AbortController();
  const api = new MeasuredApi(server, most);
  const custom = await customResources(api, signal);
  const resources = [
    ...FOR_POLICY,
    ...custom.resources,
    ...(wanted.workloads ? WORKLOADS : []),
    ...(wanted.services ? SERVICE_RESOURCES : []),
  ];
  const read = await Promise.all(
    resources.map(resource =>
      readResource(api, resource, wanted.namespaces, progress, ownSignal(signal, failed.signal)),
    ),
  ).finally(() => failed.abort());
  return {
    events: read.flatMap(({ events }) => events),
    items: read.flatMap(({ items }) => items),
    problems: [...custom.problems, ...read.flatMap(({ problems }) => problems)],
    lacks: [...custom.lacks, ...read.flatMap(({ lacks }) => lacks)],
  };
}

const FOR_POLICY = [PODS_AND_OWNERS, NAMESPACES, NODES, NETWORK_POLICIES];

/** The whole cluster's, else those of the namespaces that the question is about. */
async function readResource(
  api: MeasuredApi,
  resource: Resource,
  namespaces: readonly string[],
  progress: ListProgress,
  signal: AbortSignal,
): Promise<ReadOnce> {
  const all = await tryList(api, resource, progress, signal);
  if (!isRefusal(all)) return { ...all, lacks: [] };
  const places = isNamespaced(resource) ? namespaces : [];
  const read: Listed[] = [];
  const readable: string[] = [];
  for (const namespace of places) {
    const listed = await tryList(api, namespacedResource(resource, namespace), progress, signal);
    if (isRefusal(listed)) continue;
    read.push(listed);
    readable.push(namespace);
  }
  return {
    events: read.flatMap(({ events }) => events),
    items: read.flatMap(({ items }) => items),
    problems: read.flatMap(({ problems }) => problems),
    lacks: [lackOf(resource, readable, all.refused)],
  };
}

const CLUSTER_WIDE = ['Namespace', 'Node'];

function isNamespaced({ kind, path }: Resource): boolean {
  return !CLUSTER_WIDE.includes(kind) && !path.startsWith('/apis/policy.networking.k8s.io/');
}

type Listed = Omit<ReadOnce, 'lacks'>;
interface Refused {
  readonly refused: string;
}

function isRefusal(listed: Listed | Refused): listed is Refused {
  return 'refused' in listed;
}

async function tryList(
  api: MeasuredApi,
  resource: Resource,
  progress: ListProgress,
  signal: AbortSignal,
): Promise<Listed | Refused> {
  try {
    return await list(api, resource, progress, signal);
  } catch (error) {
    if (error instanceof ApiError && error.code === 403) return { refused: shortReason(error) };
    if (error instanceof ApiError && error.code === 404) return { events: [], items: [], problems: [] };
    throw error;
  }
}

/** The server's words behind the path and the status. */
function shortReason({ message }: ApiError): string {
  return /is forbidden: (.*)$/.exec(message)?.[1] ?? message;
}

async function list(
  api: MeasuredApi,
  resource: Resource,
  progress: ListProgress,
  signal: AbortSignal,
): Promise<Listed> {
  const events: ClusterEvent[] = [];
  const items: InventoryItem[] = [];
  const problems: Problem[] = [];
  let count = 0;
  await listPages(
    api,
    resource,
    objects => {
      for (const { object } of objects) {
        const decoded = decodeDelivered(object, resource);
        const found = isOfType(object, resource) ? decodeInventory(object) : { problems: [] };
        if (decoded.event !== undefined) events.push(decoded.event);
        if (found.item !== undefined) items.push(found.item);
        problems.push(...decoded.problems, ...found.problems);
      }
      api.read(resource.path, objects.length);
      count += objects.length;
      progress(pluralOf(resource), count);
    },
    signal,
  );
  return { events, items, problems };
}
