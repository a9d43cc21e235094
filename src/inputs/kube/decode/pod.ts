import { type Address, parseAddress } from '../../../model/address.ts';
import type { ClusterEvent, ContainerPort, PodKey } from '../../../model/cluster.ts';
import { PROTOCOLS } from '../../../model/policy.ts';
import type { Labels } from '../../../model/selector.ts';
import type { Field } from './fields.ts';
import { readLabelled, readName, readNamespace } from './metadata.ts';

/**
 * A pod has hundreds of fields: only those that policy depends on are read and checked. With `uidsOn`, only pods of that
 * node have their uid: nobody compares those of others, and there are very many of them.
 */
export function decodePod(object: Field, uidsOn?: string): ClusterEvent | undefined {
  const pod = object.attempt('the pod stays as it was last known', readIdentity);
  const { name, namespace, node, hostNetwork, finished, createdAt } = pod.value;
  if (!pod.clean || name === undefined || namespace === undefined) return undefined;
  // Joined: a text made by `${}` refers to its parts for as long as it lives.
  const key = [namespace, name].join('/') as PodKey;
  const addresses = readAddresses(object.get('status'));
  const ports = recentPorts.of(readPorts(object.get('spec')));
  const { labels: read, partial } = readLabelled(object);
  const labels = recentLabels.of(read);
  // Field by field: an object made by `...` takes half as much again, and there are very many of them.
  const uid = uidsOn === undefined || uidsOn === node ? readUid(object.get('metadata')) : undefined;
  const value = {
    key,
    namespace,
    name,
    uid,
    labels,
    node,
    addresses,
    hostNetwork,
    finished,
    createdAt,
    ports,
  };
  return { type: 'pod', key, value: partial ? { ...value, partial } : value };
}

/** The identity of the pod, and its node. */
function readIdentity(object: Field) {
  const spec = object.get('spec');
  return {
    name: readName(object),
    namespace: readNamespace(object),
    node: spec.get('nodeName').text() ?? '',
    hostNetwork: spec.get('hostNetwork').boolean() ?? false,
    // N48: a deletionTimestamp changes nothing until the phase does.
    finished: ['Succeeded', 'Failed'].includes(object.get('status').get('phase').text() ?? ''),
    createdAt: recentTimes.of(object.get('metadata').get('creationTimestamp').text() ?? ''),
  };
}

const MIRRORED = 'kubernetes.io/config.mirror';

/** The object of a static pod has a uid of its own, and names the one that its kubelet made. */
function readUid(metadata: Field): string | undefined {
  const uid = metadata.get('annotations').get(MIRRORED).value ?? metadata.get('uid').value;
  return typeof uid === 'string' && uid !== '' ? uid : undefined;
}

/**
 * The API server accepts one address for each family. A limit, because kubelets report them and every agent compares
 * them.
 */
const MOST_ADDRESSES = 64;

/** N51: every family's address; podIP only where podIPs is absent. */
function readAddresses(status: Field): readonly Address[] {
  const list = status.get('podIPs').withEffect('the pod has no address');
  const listed = list.items().map(item => item.get('ip'));
  if (listed.length > MOST_ADDRESSES)
    list
      .withEffect(`the pod has the first ${MOST_ADDRESSES}`)
      .error(`has ${listed.length} entries, and ${MOST_ADDRESSES} are the most`);
  const fields = listed.length > 0 ? listed.slice(0, MOST_ADDRESSES) : [status.get('podIP')];
  const addresses = new Set<Address>();
  for (const field of fields) {
    if (!field.isPresent || field.value === '') continue;
    const its = field.withEffect('the pod does not have this address');
    const address = its.parsed('an IP address', parseAddress);
    if (address !== undefined) addresses.add(address);
  }
  return [...addresses];
}

/** A limit, because all ports are kept in memory. */
const MOST_PORTS = 500;

/** 4.14: ports of containers, and of init containers that keep running beside them. */
export function readPorts(spec: Field): readonly ContainerPort[] {
  const effect = 'no named port matches here';
  const sidecars = spec
    .get('initContainers')
    .withEffect(effect)
    .items()
    .filter(container => container.get('restartPolicy').value === 'Always');
  const containers = spec.get('containers').withEffect(effect);
  const ports = [...containers.items(), ...sidecars].flatMap(container =>
    container.get('ports').items().flatMap(readPort),
  );
  if (ports.length <= MOST_PORTS) return ports.slice(); // `flatMap` reserves 16 places
  containers.error(`have ${ports.length} named ports, and ${MOST_PORTS} are the most`);
  return [];
}

function readPort(port: Field): ContainerPort[] {
  const { value, clean } = port.attempt('no policy matches the port by its name', readNamedPort);
  return clean && value !== undefined ? [value] : [];
}

function readNamedPort(port: Field): ContainerPort | undefined {
  const name = port.get('name').text() ?? '';
  const protocol = port.get('protocol').oneOf(PROTOCOLS) ?? 'TCP';
  const number = port.get('containerPort').integer(1, 65535);
  return name === '' || number === undefined ? undefined : { name, protocol, port: number };
}

/**
 * Gives one object for equal values that come soon after each other. Pods of one Deployment stand beside each other in
 * a list, and have the same labels and ports; there are very many pods, and each would keep its own copy.
 */
class Recent<T> {
  readonly #values = new Map<string, T>();

  of(value: T): T {
    const text = JSON.stringify(value);
    const known = this.#values.get(text);
    if (known !== undefined) return known;
    if (this.#values.size === MOST_RECENT) this.#values.clear();
    if (text.length <= LONGEST_RECENT) this.#values.set(text, value);
    return value;
  }
}

const MOST_RECENT = 64;
const LONGEST_RECENT = 1_000;

const recentLabels = new Recent<Labels>();
const recentPorts = new Recent<readonly ContainerPort[]>();
const recentTimes = new Recent<string>();
