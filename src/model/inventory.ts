/** What people name their programs by, beside the cluster that policy sees. */
import type { PodKey } from './cluster.ts';
import type { EndpointSlice, Service, ServiceKey } from './service.ts';
import type { Controller, Workload, WorkloadId } from './workload.ts';

export interface Inventory {
  readonly workloads: ReadonlyMap<WorkloadId, Workload>;
  readonly services: ReadonlyMap<ServiceKey, Service>;
  /** By the key of the slice. */
  readonly slices: ReadonlyMap<string, EndpointSlice>;
  /** What controls each pod that something controls. */
  readonly podOwners: ReadonlyMap<PodKey, Controller>;
}

export type InventoryItem =
  | { readonly type: 'workload'; readonly value: Workload }
  | { readonly type: 'service'; readonly value: Service }
  | { readonly type: 'slice'; readonly value: EndpointSlice }
  | { readonly type: 'slices'; readonly values: readonly EndpointSlice[] }
  | { readonly type: 'podOwner'; readonly pod: PodKey; readonly owner: Controller };

export const NO_INVENTORY: Inventory = inventoryOf([]);

/** Of two of one name the first counts, as of all objects of a folder. */
export function inventoryOf(items: Iterable<InventoryItem>): Inventory {
  const workloads = new Map<WorkloadId, Workload>();
  const services = new Map<ServiceKey, Service>();
  const slices = new Map<string, EndpointSlice>();
  const podOwners = new Map<PodKey, Controller>();
  for (const item of items) {
    if (item.type === 'workload') add(workloads, item.value.id, item.value);
    else if (item.type === 'service') add(services, item.value.key, item.value);
    else if (item.type === 'slice') add(slices, item.value.key, item.value);
    else if (item.type === 'slices') for (const value of item.values) add(slices, value.key, value);
    else add(podOwners, item.pod, item.owner);
  }
  return { workloads, services, slices, podOwners };
}

function add<K, V>(map: Map<K, V>, key: K, value: V): void {
  if (!map.has(key)) map.set(key, value);
}
