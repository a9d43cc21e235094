/** The half of kni.KNI that makes networks: requests of a runtime to the pod network, and back. */
import { status } from '@grpc/grpc-js';
import { FAMILY_NAME, familyOf } from '../../model/address.ts';
import type { PodKey } from '../../model/cluster.ts';
import type { Attached } from '../../network/attach/attacher.ts';
import { podMac } from '../../network/attach/attachment.ts';
import type { NamespaceHelper } from '../../network/attach/helper.ts';
import type { PodNetwork } from '../../network/attach/podnetwork.ts';
import {
  isOwnNamespacePath,
  namespacePath,
  ownNamespacePath,
  requireInterfaceName,
  requirePod,
  requireSandbox,
} from '../../network/attach/request.ts';
import { NetworkError, type NetworkErrorCode } from '../../network/error.ts';
import { hostPorts } from '../../network/hostports/hostports.ts';
import { CallRefusal } from './unary.ts';

/** The name of a pod's interface where `extradata.interface` gives no other. */
export const INTERFACE = 'eth0';
/** Isolation.type of a pod that is a Linux network namespace. */
const TYPES = new Set(['', 'namespace', 'netns', 'network']);

type Extradata = Readonly<Record<string, string>>;

interface PodName {
  readonly name: string;
  readonly namespace: string;
}

export interface AttachInterfaceRequest extends PodName {
  readonly id: string;
  readonly isolation: { readonly path: string; readonly type: string } | null;
  readonly port_mappings: readonly PortMapping[];
  readonly labels: Extradata;
  readonly extradata: Extradata;
}

interface PortMapping {
  readonly protocol: string;
  readonly container_port: number;
  readonly host_port: number;
  readonly host_ip: string;
}

export interface DetachInterfaceRequest extends PodName {
  readonly id: string;
}

export interface CreateNetworkRequest extends PodName {
  readonly uid: string;
  readonly netns_path_prefix: string;
  readonly extradata: Extradata;
}

export interface DeleteNetworkRequest extends PodName {
  readonly netns_path: string;
}

export function attachCalls(network: PodNetwork) {
  const { helper } = network;
  return {
    attach: (request: AttachInterfaceRequest) => answering(() => attach(network, request)),
    detach: (request: DetachInterfaceRequest) => answering(() => detach(network, request)),
    create: (request: CreateNetworkRequest) => answering(() => create(helper, request)),
    remove: (request: DeleteNetworkRequest) => answering(() => remove(helper, request)),
  };
}

async function attach(network: PodNetwork, request: AttachInterfaceRequest) {
  const { isolation, extradata, labels } = request;
  if (!TYPES.has(isolation?.type ?? ''))
    throw new NetworkError(
      'unsupported',
      `isolation of type "${isolation?.type}" cannot be attached: Sluice attaches network namespaces (type "namespace")`,
    );
  const attached = await network.attach({
    pod: requirePod(request.namespace, request.name),
    sandbox: requireSandbox(request.id),
    interface: requireInterfaceName(extradata.interface ?? INTERFACE),
    namespace: namespacePath(isolation?.path ?? ''),
    ...podLabels(labels),
    hostPorts: hostPorts(request.port_mappings.map(portMapping)),
  });
  return { ipconfigs: { [attached.interface]: ipConfig(attached) }, extradata };
}

/**
 * The kubelet adds labels for its own use, which are not labels of the pod. A runtime that sends no labels may have
 * left them out.
 */
function podLabels(labels: Extradata): { labels?: Extradata } {
  const own = Object.entries(labels).filter(([key]) => !key.startsWith('io.kubernetes.pod.'));
  return own.length === 0 ? {} : { labels: Object.fromEntries(own) };
}

function portMapping({ protocol, host_port, container_port, host_ip }: PortMapping) {
  return { protocol, hostPort: host_port, containerPort: container_port, hostIP: host_ip };
}

async function detach(network: PodNetwork, request: DetachInterfaceRequest) {
  const sandbox = requireSandbox(request.id);
  await network.detachSandbox(sandbox);
  // An attachment that a killed agent left incomplete does not name its owner.
  await network.detach({ sandbox, interface: INTERFACE });
  return {};
}

async function create(helper: NamespaceHelper, request: CreateNetworkRequest) {
  const pod = requirePod(request.namespace, request.name);
  const path = ownNamespacePath(request.netns_path_prefix, pod, request.uid);
  await helper.create(path).catch(refuse);
  return { netns_path: path, extradata: request.extradata };
}

async function remove(helper: NamespaceHelper, { netns_path }: DeleteNetworkRequest) {
  const path = namespacePath(netns_path);
  if (!isOwnNamespacePath(path))
    throw new NetworkError('invalid', `${path} was not made by CreateNetwork; it is left as it is`);
  await helper.remove(path).catch(refuse);
  return {};
}

function refuse(error: Error): never {
  throw new NetworkError('invalid', error.message, error);
}

/** The interfaces of a pod, by name. */
export async function interfacesOf(network: PodNetwork, pod: PodKey) {
  const found = await network.attachmentsOf(pod);
  const complete = found.filter(({ addresses }) => addresses.length > 0);
  return Object.fromEntries(
    complete.map(({ owner, device, mac, addresses }) => [
      owner!.interface,
      ipConfig({ device, interface: owner!.interface, mac: podMac(mac), nodeMac: mac, addresses }),
    ]),
  );
}

function ipConfig({ addresses, mac, device, nodeMac, mtu }: Omit<Attached, 'mtu'> & { mtu?: number }) {
  return {
    ip: addresses,
    mac,
    extradata: {
      families: addresses.map(address => FAMILY_NAME[familyOf(address)]).join(','),
      hostInterface: device,
      hostMac: nodeMac,
      ...(mtu !== undefined && { mtu: String(mtu) }),
    },
  };
}

const CODES: Record<NetworkErrorCode, status> = {
  invalid: status.INVALID_ARGUMENT,
  unsupported: status.UNIMPLEMENTED,
  conflict: status.FAILED_PRECONDITION,
  exhausted: status.RESOURCE_EXHAUSTED,
  unavailable: status.UNAVAILABLE,
};

async function answering<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof NetworkError ? new CallRefusal(CODES[error.code], error.message) : error;
  }
}
