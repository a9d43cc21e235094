/** Objects that policy does not use, for questions that name them. */
import { FAMILIES, familyOf, parseAddress } from '../../../model/address.ts';
import type { DeclaredPort, InventoryItem, PodHostPort } from '../../../model/inventory.ts';
import type { Labelled, LabelSelector } from '../../../model/labels.ts';
import { PROTOCOLS, type Protocol } from '../../../model/policy.ts';
import type { Problem } from '../../../model/problem.ts';
import type { Endpoint, EndpointSlice } from '../../../model/service.ts';
import {
  type Controller,
  isWorkloadKind,
  type Workload,
  type WorkloadKind,
  workloadId,
} from '../../../model/workload.ts';
import { asMap, asMaps, metadataOf, typeOf } from '../report/identity.ts';
import { addedLabels, hasPodTemplate, podMakerOf } from './customworkloads.ts';
import { entranceClassOf, entranceOf, routeGrantsOf } from './entrances.ts';
import { Field, type Report } from './fields.ts';
import { foreignPolicyOf } from './foreignpolicies.ts';
import { looseSelector } from './looseselector.ts';
import { readLabelled, readName, readNamespace } from './metadata.ts';
import { readPorts } from './pod.ts';
import {
  decodeEndpointSlice,
  decodeService,
  endpointPod,
  readSlicePort,
  serviceAddresses,
} from './services.ts';
import { isUnneeded } from './unneeded.ts';

/** A workload by its template: only the fields that policy would read of its pods. */
function decodeWorkload(object: Field, kind: WorkloadKind): Workload | undefined {
  const name = readName(object);
  const namespace = readNamespace(object);
  if (name === undefined || namespace === undefined) return undefined;
  const template = templateOf(object.get('spec'), kind).withEffect(EFFECT);
  const spec = template.get('spec');
  const replicas = replicasOf(object, kind);
  const owner = controllerOf(object.value);
  const selector = workloadSelector(asMap(asMap(object.value).spec).selector);
  const unnamedPorts = unnamedPortsOf(spec.value);
  return {
    id: workloadId(kind, namespace, name),
    kind,
    namespace,
    name,
    ...withAdded(readLabelled(template), object, kind, name),
    ...(selector !== undefined && { selector }),
    ports: readPorts(spec),
    ...(unnamedPorts.length > 0 && { unnamedPorts }),
    hostNetwork: spec.get('hostNetwork').boolean() ?? false,
    ...(replicas !== undefined && { replicas }),
    ...(owner !== undefined && { owner }),
  };
}

const EFFECT = 'pods that are not there yet are judged without it';

function templateOf(spec: Field, kind: WorkloadKind): Field {
  const job = kind === 'CronJob' ? spec.get('jobTemplate').get('spec') : spec;
  return job.get('template');
}

/** The API server fills in 1 for kinds of Kubernetes. */
function replicasOf(object: Field, kind: WorkloadKind): number | undefined {
  if (kind === 'Job' || kind === 'CronJob' || kind === 'DaemonSet') return undefined;
  const written = object
    .get('spec')
    .get('replicas')
    .integer(0, 2 ** 31 - 1);
  return written ?? (isWorkloadKind(kind) ? 1 : undefined);
}

/** A label selector, or labels alone, as a ReplicationController has; absent where there is none. */
function workloadSelector(selector: unknown): LabelSelector | undefined {
  const { matchLabels, matchExpressions } = asMap(selector);
  const isPlain = matchLabels === undefined && matchExpressions === undefined;
  const read = looseSelector(isPlain ? { matchLabels: selector } : selector);
  return read?.requirements.length === 0 ? undefined : read;
}

/** A Job labels its pods with its own name; the values of other workloads' labels are known only to the cluster. */
function withAdded(labelled: Labelled, { value }: Field, kind: WorkloadKind, name: string): Labelled {
  const ofJob = { 'job-name': name, 'batch.kubernetes.io/job-name': name };
  const added = kind === 'Job' ? ofJob : addedLabels(value);
  return { ...labelled, labels: { ...added, ...labelled.labels } };
}

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

/** Reads any value; objects of other kinds give nothing, and no problem. */
export function decodeInventory(object: unknown): DecodedItem {
  const type = typeOf(object);
  const { apiVersion, kind } = type;
  if (kind === undefined || isUnneeded(type)) return NOTHING;
  const decoder =
    DECODERS.get(`${apiVersion} ${kind}`) ?? (hasPodTemplate(object) ? workload(kind) : undefined);
  if (decoder === undefined) {
    const entrance = entranceOf(object);
    if (entrance !== undefined) return { item: { type: 'entrance', value: entrance }, problems: [] };
    const entranceClass = entranceClassOf(object);
    if (entranceClass !== undefined)
      return { item: { type: 'entranceClass', value: entranceClass }, problems: [] };
    const grants = routeGrantsOf(object);
    if (grants !== undefined) return { item: { type: 'routeGrants', values: grants }, problems: [] };
    const foreign = foreignPolicyOf(object);
    if (foreign !== undefined) return { item: { type: 'foreignPolicy', value: foreign }, problems: [] };
    const value = podMakerOf(object);
    return value === undefined ? NOTHING : { item: { type: 'podMaker', value }, problems: [] };
  }
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

/** Problems of the pod itself are reported by its own decoder. */
function pod({ value }: Field): InventoryItem | undefined {
  const owner = controllerOf(value);
  const hostPorts = hostPortsOf(value);
  const { namespace, name } = metadataOf(value);
  const unnamedPorts = unnamedPortsOf(asMap(value).spec);
  if (owner === undefined && hostPorts.length === 0 && unnamedPorts.length === 0) return undefined;
  return {
    type: 'pod',
    pod: `${namespace}/${name}`,
    ...(owner && { owner }),
    hostPorts,
    ...(unnamedPorts.length > 0 && { unnamedPorts }),
  };
}

function hostPortsOf(object: unknown): PodHostPort[] {
  const { spec } = asMap(object);
  return containerPorts(spec).flatMap(({ hostPort, containerPort, protocol = 'TCP', hostIP }) => {
    if (!isPort(hostPort) || !isPort(containerPort) || !isProtocol(protocol)) return [];
    const hostIp = typeof hostIP === 'string' ? parseAddress(hostIP) : undefined;
    const isOne = hostIp !== undefined && !ANY.includes(hostIp);
    return [{ protocol, hostPort, port: containerPort, ...(isOne && { hostIp }) }];
  });
}

/** None of a pod of the host's network: policy does not select it, and its host ports are those that it listens on. */
function containerPorts(spec: unknown) {
  const { containers, initContainers, hostNetwork } = asMap(spec);
  if (hostNetwork === true) return [];
  const all = [...asMaps(containers), ...asMaps(initContainers)];
  return all.flatMap(({ ports }) => asMaps(ports));
}

function unnamedPortsOf(spec: unknown): readonly DeclaredPort[] {
  return containerPorts(spec).flatMap(({ name = '', containerPort, protocol = 'TCP' }) =>
    name === '' && isPort(containerPort) && isProtocol(protocol) ? [{ protocol, port: containerPort }] : [],
  );
}

const ANY: readonly string[] = ['0.0.0.0', '::'];
const isPort = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 65535;
const isProtocol = (value: unknown): value is Protocol => PROTOCOLS.some(each => each === value);

// Endpoints, which people write for a Service without a selector; a cluster makes slices of them, a folder has none.

/** A slice for each subset and family. */
function decodeEndpoints(object: Field): readonly EndpointSlice[] {
  const name = readName(object);
  const namespace = readNamespace(object);
  if (name === undefined || namespace === undefined) return [];
  return object
    .get('subsets')
    .items()
    .flatMap((subset, index) => {
      const ports = subset.get('ports').items().flatMap(readSlicePort);
      const endpoints = [
        ...endpointsIn(subset.get('addresses'), namespace, true),
        ...endpointsIn(subset.get('notReadyAddresses'), namespace, false),
      ];
      return FAMILIES.map(
        (family): EndpointSlice => ({
          key: `${namespace}/${name} (subset ${index}, ${family})`,
          service: `${namespace}/${name}`,
          family,
          ports,
          endpoints: endpoints.filter(({ addresses }) => addresses.some(each => familyOf(each) === family)),
          isMirrored: true,
        }),
      );
    });
}

function endpointsIn(list: Field, namespace: string, ready: boolean): Endpoint[] {
  return list.items().map(field => {
    const pod = endpointPod(field, namespace);
    const node = field.get('nodeName').text();
    return {
      addresses: serviceAddresses([field.get('ip')]),
      ready,
      ...(pod && { pod }),
      ...(node && { node }),
    };
  });
}

/** The one of its ownerReferences that controls the object; taken without a check, for it decides nothing. */
function controllerOf(object: unknown): Controller | undefined {
  const { ownerReferences } = asMap(asMap(object).metadata);
  if (!Array.isArray(ownerReferences)) return undefined;
  const { kind, name } = asMap(ownerReferences.map(asMap).find(({ controller }) => controller === true));
  return typeof kind === 'string' && typeof name === 'string' ? { kind, name } : undefined;
}
