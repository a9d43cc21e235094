/** The objects that policy never sees, for whoever asks about them by name. */
import type { InventoryItem } from '../../model/inventory.ts';
import type { Problem } from '../../model/problem.ts';
import type { WorkloadKind } from '../../model/workload.ts';
import { metadataOf, typeOf } from '../report/identity.ts';
import { decodeEndpoints } from './endpoints.ts';
import { Field, type Report } from './fields.ts';
import { controllerOf } from './owner.ts';
import { decodeEndpointSlice, decodeService } from './services.ts';
import { decodeWorkload } from './workload.ts';

export interface DecodedItem {
  readonly item?: InventoryItem;
  readonly problems: readonly Problem[];
}

type Decoder = (object: Field) => InventoryItem | undefined;

const workload =
  (kind: WorkloadKind): Decoder =>
  object => {
    const value = decodeWorkload(object, kind);
    return value && { type: 'workload', value };
  };

const DECODERS: ReadonlyMap<string, Decoder> = new Map<string, Decoder>([
  ['apps/v1 Deployment', workload('Deployment')],
  ['apps/v1 StatefulSet', workload('StatefulSet')],
  ['apps/v1 DaemonSet', workload('DaemonSet')],
  ['apps/v1 ReplicaSet', workload('ReplicaSet')],
  ['v1 ReplicationController', workload('ReplicationController')],
  ['batch/v1 Job', workload('Job')],
  ['batch/v1 CronJob', workload('CronJob')],
  ['v1 Service', service],
  ['discovery.k8s.io/v1 EndpointSlice', slice],
  ['v1 Endpoints', object => ({ type: 'slices', values: decodeEndpoints(object) })],
  ['v1 Pod', podOwner],
]);

/** Reads any value; what is none of these kinds is nothing, and no problem either. */
export function decodeInventory(object: unknown): DecodedItem {
  const { apiVersion, kind } = typeOf(object);
  const decoder = DECODERS.get(`${apiVersion} ${kind}`);
  if (decoder === undefined) return NOTHING;
  const { namespace, name } = metadataOf(object);
  const report: Report = { object: `${kind} ${namespace}/${name}`, problems: [], errors: 0 };
  const item = decoder(new Field(object, '', 'answers leave it out', report));
  return { problems: report.problems, ...(item && { item }) };
}

const NOTHING: DecodedItem = { problems: [] };

function service(object: Field): InventoryItem | undefined {
  const value = decodeService(object);
  return value && { type: 'service', value };
}

function slice(object: Field): InventoryItem | undefined {
  const value = decodeEndpointSlice(object);
  return value && { type: 'slice', value };
}

/** What is wrong with the pod is for its own decoder to say. */
function podOwner({ value }: Field): InventoryItem | undefined {
  const owner = controllerOf(value);
  const { namespace, name } = metadataOf(value);
  return owner && { type: 'podOwner', pod: `${namespace}/${name}`, owner };
}
