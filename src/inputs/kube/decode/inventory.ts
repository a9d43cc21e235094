/** The objects that policy never sees, for whoever asks about them by name. */
import { parseAddress } from '../../../model/address.ts';
import type { InventoryItem, PodHostPort } from '../../../model/inventory.ts';
import { PROTOCOLS, type Protocol } from '../../../model/policy.ts';
import type { Problem } from '../../../model/problem.ts';
import type { WorkloadKind } from '../../../model/workload.ts';
import { asMap, metadataOf, typeOf } from '../report/identity.ts';
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
  ['v1 Pod', pod],
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
function pod({ value }: Field): InventoryItem | undefined {
  const owner = controllerOf(value);
  const hostPorts = hostPortsOf(value);
  const { namespace, name } = metadataOf(value);
  if (owner === undefined && hostPorts.length === 0) return undefined;
  return { type: 'pod', pod: `${namespace}/${name}`, ...(owner && { owner }), hostPorts };
}

/** None of a pod of the host's network: there they are the ports that it listens on. */
function hostPortsOf(object: unknown): PodHostPort[] {
  const { containers, initContainers, hostNetwork } = asMap(asMap(object).spec);
  if (hostNetwork === true) return [];
  const all = [containers, initContainers].flatMap(list => (Array.isArray(list) ? list.map(asMap) : []));
  const ports = all.flatMap(container => (Array.isArray(container.ports) ? container.ports.map(asMap) : []));
  return ports.flatMap(({ hostPort, containerPort, protocol = 'TCP', hostIP }) => {
    if (!isPort(hostPort) || !isPort(containerPort) || !isProtocol(protocol)) return [];
    const hostIp = typeof hostIP === 'string' ? parseAddress(hostIP) : undefined;
    const isOne = hostIp !== undefined && !ANY.includes(hostIp);
    return [{ protocol, hostPort, port: containerPort, ...(isOne && { hostIp }) }];
  });
}

const ANY: readonly string[] = ['0.0.0.0', '::'];
const isPort = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 65535;
const isProtocol = (value: unknown): value is Protocol => PROTOCOLS.some(each => each === value);
