/** Objects by which people name their programs, and which policy does not see. */
import type { Address } from './address.ts';
import type { PodKey } from './cluster.ts';
import type { ForeignPolicy } from './foreignpolicy.ts';
import type { Protocol } from './policy.ts';
import type { EndpointSlice, Entrance, EntranceClass, RouteGrant, Service, ServiceKey } from './service.ts';
import type { Controller, PodMaker, Workload, WorkloadId } from './workload.ts';

export interface Inventory {
  readonly workloads: ReadonlyMap<WorkloadId, Workload>;
  readonly services: ReadonlyMap<ServiceKey, Service>;
  /** EndpointSlices by their own key. */
  readonly slices: ReadonlyMap<string, EndpointSlice>;
  /** The controller of each pod that has one. */
  readonly podOwners: ReadonlyMap<PodKey, Controller>;
  /** The host ports of each pod that has some. */
  readonly hostPorts: ReadonlyMap<PodKey, readonly PodHostPort[]>;
  /** The ports without a name that containers of a pod declare. */
  readonly unnamedPorts: ReadonlyMap<PodKey, readonly DeclaredPort[]>;
  /** Objects that make pods which are not among the workloads. */
  readonly podMakers: readonly PodMaker[];
  readonly entrances: readonly Entrance[];
  /** What leads from these to their controllers. */
  readonly entranceClasses: readonly EntranceClass[];
  /** What routes may lead to Services of other namespaces. */
  readonly routeGrants: readonly RouteGrant[];
  /** Policies that other engines enforce. */
  readonly foreignPolicies: readonly ForeignPolicy[];
}

/** A port that a container declares without a name: policy does not know it, and it says where a program listens. */
export interface DeclaredPort {
  readonly protocol: Protocol;
  readonly port: number;
}

/** A port of a node that leads to a port of its pod. */
export interface PodHostPort {
  readonly protocol: Protocol;
  readonly hostPort: number;
  readonly port: number;
  /** The only address of the node with this port; absent for all of them. */
  readonly hostIp?: Address;
}

export type InventoryItem =
  | { readonly type: 'workload'; readonly value: Workload }
  | { readonly type: 'podMaker'; readonly value: PodMaker }
  | { readonly type: 'entrance'; readonly value: Entrance }
  | { readonly type: 'entranceClass'; readonly value: EntranceClass }
  | { readonly type: 'routeGrants'; readonly values: readonly RouteGrant[] }
  | { readonly type: 'foreignPolicy'; readonly value: ForeignPolicy }
  | { readonly type: 'service'; readonly value: Service }
  | { readonly type: 'slice'; readonly value: EndpointSlice }
  | { readonly type: 'slices'; readonly values: readonly EndpointSlice[] }
  | {
      readonly type: 'pod';
      readonly pod: PodKey;
      readonly owner?: Controller;
      readonly hostPorts: readonly PodHostPort[];
      readonly unnamedPorts?: readonly DeclaredPort[];
    };

export const NO_INVENTORY: Inventory = inventoryOf([]);

/** If two objects have the same name, the first one counts, as in a folder of manifests. */
export function inventoryOf(items: Iterable<InventoryItem>): Inventory {
  const workloads = new Map<WorkloadId, Workload>();
  const services = new Map<ServiceKey, Service>();
  const slices = new Map<string, EndpointSlice>();
  const podOwners = new Map<PodKey, Controller>();
  const hostPorts = new Map<PodKey, readonly PodHostPort[]>();
  const unnamedPorts = new Map<PodKey, readonly DeclaredPort[]>();
  const podMakers: PodMaker[] = [];
  const entrances: Entrance[] = [];
  const entranceClasses: EntranceClass[] = [];
  const routeGrants: RouteGrant[] = [];
  const foreignPolicies: ForeignPolicy[] = [];
  for (const item of items) {
    if (item.type === 'workload') add(workloads, item.value.id, item.value);
    else if (item.type === 'podMaker') podMakers.push(item.value);
    else if (item.type === 'entrance') entrances.push(item.value);
    else if (item.type === 'entranceClass') entranceClasses.push(item.value);
    else if (item.type === 'routeGrants') routeGrants.push(...item.values);
    else if (item.type === 'foreignPolicy') foreignPolicies.push(item.value);
    else if (item.type === 'service') add(services, item.value.key, item.value);
    else if (item.type === 'slice') add(slices, item.value.key, item.value);
    else if (item.type === 'slices') for (const value of item.values) add(slices, value.key, value);
    else {
      if (item.owner !== undefined) add(podOwners, item.pod, item.owner);
      if (item.hostPorts.length > 0) add(hostPorts, item.pod, item.hostPorts);
      if (item.unnamedPorts !== undefined) add(unnamedPorts, item.pod, item.unnamedPorts);
    }
  }
  return {
    workloads,
    services,
    slices,
    podOwners,
    hostPorts,
    unnamedPorts,
    podMakers,
    entrances,
    entranceClasses,
    routeGrants,
    foreignPolicies,
  };
}

/** If two objects have the same name, the last one counts. */
export function mergedInventory(inventories: readonly Inventory[]): Inventory {
  return {
    workloads: new Map(inventories.flatMap(({ workloads }) => [...workloads])),
    services: new Map(inventories.flatMap(({ services }) => [...services])),
    slices: new Map(inventories.flatMap(({ slices }) => [...slices])),
    podOwners: new Map(inventories.flatMap(({ podOwners }) => [...podOwners])),
    hostPorts: new Map(inventories.flatMap(({ hostPorts }) => [...hostPorts])),
    unnamedPorts: new Map(inventories.flatMap(({ unnamedPorts }) => [...unnamedPorts])),
    podMakers: inventories.flatMap(({ podMakers }) => podMakers),
    entrances: inventories.flatMap(({ entrances }) => entrances),
    entranceClasses: inventories.flatMap(({ entranceClasses }) => entranceClasses),
    routeGrants: inventories.flatMap(({ routeGrants }) => routeGrants),
    foreignPolicies: inventories.flatMap(({ foreignPolicies }) => foreignPolicies),
  };
}

function add<K, V>(map: Map<K, V>, key: K, value: V): void {
  if (!map.has(key)) map.set(key, value);
}
