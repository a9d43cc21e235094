/** The places that an end names, of everything but Services: those lead to places, and services.ts follows them. */

import { assertNever } from '../../lib/text/assert.ts';
import { didYouMean } from '../../lib/text/didyoumean.ts';
import { type Address, type AddressRange, cidrRange } from '../../model/address.ts';
import { addressOwners } from '../../model/addressowners.ts';
import { addressesOfNode, type Cluster, type Node, type Pod, type PodKey } from '../../model/cluster.ts';
import type { Labels } from '../../model/labels.ts';
import { podCidrsOf } from '../../model/podcidrs.ts';
import { isWorkloadKind, type Workload, type WorkloadKind, workloadId } from '../../model/workload.ts';
import { topWorkloads, workloadOf } from '../../model/workloadof.ts';
import { FlowTextError, requireOwner } from '../../semantics/flowtext.ts';
import { type EndpointName, isNameOfKind, serviceText, workloadText } from './endpoint.ts';
import type { ClusterView, ResolvedEndpoint } from './place.ts';
import { INTERNET, PRIVATE, podSpaces, without } from './ranges.ts';

/** Throws FlowTextError if the cluster has no such pod, workload or node. */
export function placesOf(
  view: ClusterView,
  name: Exclude<EndpointName, { kind: 'service' }>,
): readonly ResolvedEndpoint[] {
  const { cluster, defaultNamespace } = view;
  switch (name.kind) {
    case 'pod':
      return podPlaces(view, name.namespace, name.name);
    case 'workload':
      return workloadPlaces(
        view,
        kindNamed(view, name.workload),
        name.namespace ?? defaultNamespace,
        name.name,
      );
    case 'labels':
      return futureEndpoints(view, name.namespace ?? defaultNamespace, name.labels);
    case 'node':
      return [nodeEndpoint(view, name.name)];
    case 'address':
      return [addressEndpoint(cluster, name.address)];
    case 'internet':
      return [
        { name: 'internet', isInternet: true, addresses: [], unassigned: { within: internetOf(cluster) } },
      ];
    case 'domain':
      return [
        {
          name: name.name,
          domain: name.name,
          addresses: [],
          unassigned: { within: internetOf(cluster) },
        },
      ];
    default:
      return assertNever(name);
  }
}

/** The error that no object has this name, or that it is unknown because the caller may not list these objects. */
export function absent(
  view: ClusterView,
  kind: string,
  name: string,
  hint: string,
  namespace?: string,
): string {
  const plural = `${kind.toLowerCase()}s`;
  if (view.mayNotList?.(plural, namespace))
    return `whether there is a ${kind} ${name} is not known: you may not list ${plural}`;
  return `there is no ${kind} ${name}${hint}`;
}

/** Addresses on the internet, without those of the cluster. */
function internetOf(cluster: Cluster): AddressRange[] {
  return without(INTERNET, [...cluster.nodes.values()].flatMap(podCidrsOf).map(cidrRange));
}

/**
 * `rollout/web` is a pod of a namespace, unless it is a workload of another kind than those of Kubernetes. Lists show a
 * workload without its kind: where no pod has the name, and one workload has it, that one is meant.
 */
function podPlaces(view: ClusterView, first: string | undefined, name: string): readonly ResolvedEndpoint[] {
  const { cluster, defaultNamespace } = view;
  const namespace = first ?? defaultNamespace;
  const key: PodKey = `${namespace}/${name}`;
  const kind = first === undefined || cluster.pods.has(key) ? undefined : customKind(view, first);
  if (kind !== undefined) return workloadPlaces(view, kind, defaultNamespace, name);
  const entrance = first === undefined || hasNamespace(cluster, first) ? undefined : entranceKind(first);
  if (entrance !== undefined) throw new FlowTextError(noEnd(view, entrance, name));
  const [only, ...others] = hasNoPod(view, key) ? kindsNamed(view, key) : [];
  if (only !== undefined && others.length === 0) return workloadPlaces(view, only, namespace, name);
  return podEndpoints(view, podNamed(view, key));
}

function hasNamespace({ namespaces, pods }: Cluster, name: string): boolean {
  return namespaces.has(name) || [...pods.values()].some(({ namespace }) => namespace === name);
}

/** What leads clients from outside to Services, by the names that kubectl takes. */
const ENTRANCES: ReadonlyMap<string, string> = new Map([
  ['ing', 'Ingress'],
  ['ingress', 'Ingress'],
  ['ingresses', 'Ingress'],
  ['httproute', 'HTTPRoute'],
  ['httproutes', 'HTTPRoute'],
  ['grpcroute', 'GRPCRoute'],
  ['tlsroute', 'TLSRoute'],
  ['tcproute', 'TCPRoute'],
  ['udproute', 'UDPRoute'],
  ['route', 'Route'],
  ['gateway', 'Gateway'],
  ['gtw', 'Gateway'],
]);

function entranceKind(word: string): string | undefined {
  return ENTRANCES.get(word.toLowerCase().replace(/\..*/, ''));
}

function noEnd({ inventory }: ClusterView, kind: string, name: string): string {
  const found = inventory.entrances.filter(
    ({ object }) => object.startsWith(`${kind} `) && object.endsWith(`/${name}`),
  );
  const services = new Set(
    found.flatMap(({ backends }) => backends.map(({ service }) => serviceText(service))),
  );
  const to =
    services.size === 0 ? 'a Service behind it (svc/NAME)' : [...services].slice(0, MOST_MEANT).join(' or ');
  return `${kind} ${name} is no end of a connection: ask from internet, or from the pods of its controller, to ${to}`;
}

/** Not where pods may not be listed: then nobody knows. */
function hasNoPod({ cluster, mayNotList }: ClusterView, key: PodKey): boolean {
  return !cluster.pods.has(key) && !mayNotList?.('pods', key.split('/')[0]);
}

/** The kinds of the workloads that have this name. */
function kindsNamed({ cluster, inventory }: ClusterView, key: PodKey): readonly WorkloadKind[] {
  const workloads = topWorkloads(inventory).filter(({ namespace, name }) => `${namespace}/${name}` === key);
  const owners = [...cluster.pods.values()].flatMap(pod => {
    const { kind, id } = pod.finished ? { kind: 'Pod' } : workloadOf(inventory, pod);
    return kind !== 'Pod' && id === `${kind} ${key}` ? [kind] : [];
  });
  return [...new Set([...workloads.map(({ kind }) => kind), ...owners])];
}

/** Whether this is the name of a Service, and of no pod and no workload. */
export function isServiceAlone(view: ClusterView, key: PodKey): boolean {
  return view.inventory.services.has(key) && hasNoPod(view, key) && kindsNamed(view, key).length === 0;
}

/** The kind of workloads or of owners of pods that people name so, if Kubernetes does not have it. */
function customKind({ inventory }: ClusterView, word: string): WorkloadKind | undefined {
  const { workloads, podOwners } = inventory;
  const kinds = new Set<WorkloadKind>();
  for (const { kind, owner } of workloads.values())
    for (const each of [kind, owner?.kind]) if (each) kinds.add(each);
  for (const { kind } of podOwners.values()) kinds.add(kind);
  return [...kinds].find(kind => !isWorkloadKind(kind) && isNameOfKind(word, kind));
}

/** Throws FlowTextError where there is neither such a kind, nor something of the name that makes pods. */
function kindNamed(view: ClusterView, word: string): WorkloadKind {
  const found = isWorkloadKind(word) ? word : customKind(view, word);
  if (found !== undefined) return found;
  const maker = view.inventory.podMakers.find(({ kind }) => isNameOfKind(word, kind));
  if (maker === undefined)
    throw new FlowTextError(`there is no workload of a kind ${word}${entranceHint(word)}`);
  throw new FlowTextError(
    `the pods that a ${maker.kind} makes are not read: ask for a pod by its labels, as ${maker.namespace}/app=NAME`,
  );
}

function entranceHint(word: string): string {
  const kind = entranceKind(word);
  return kind === undefined ? '' : `: ask from internet to the Service behind the ${kind}`;
}

function podNamed(view: ClusterView, key: PodKey): Pod {
  const { cluster } = view;
  const pod = cluster.pods.get(key);
  if (pod === undefined)
    throw new FlowTextError(absent(view, 'pod', key, meant(view, key), key.split('/')[0]));
  if (pod.finished)
    throw new FlowTextError(
      `pod ${key} has finished: its address (${pod.addresses.join(', ') || 'none'}) is free for other pods, and no policy applies to it`,
    );
  return pod;
}

/** A hint for a name that was not found: another object that has it, or a pod of the namespace with a similar name. */
function meant({ cluster, inventory }: ClusterView, key: PodKey): string {
  const start = key.indexOf('/') + 1;
  const isDeserted = cluster.pods.size + inventory.workloads.size === 0;
  const workloads = topWorkloads(inventory).filter(({ namespace, name }) => `${namespace}/${name}` === key);
  const service = inventory.services.get(key);
  const others = [
    ...workloads.map(({ kind, namespace, name }) => workloadText(kind, namespace, name)),
    ...(service === undefined ? [] : [`${service.namespace}/svc/${service.name}`]),
    ...(cluster.nodes.has(key.slice(start)) ? [`node/${key.slice(start)}`] : []),
  ];
  if (others.length > 0) return meantText(others);
  const neighbours = [...cluster.pods.keys()].filter(other => other.startsWith(key.slice(0, start)));
  const close = didYouMean(
    key.slice(start),
    neighbours.map(other => other.slice(start)),
  );
  if (close !== undefined) return meantText([key.slice(0, start) + close]);
  return elsewhere([...cluster.pods.keys()], key.slice(start)) || (isDeserted ? NOBODY : OTHER_KINDS);
}

/** Objects of the same name in other namespaces, by keys that end in it. */
export function elsewhere(keys: readonly string[], name: string): string {
  const found = keys.filter(key => key.endsWith(`/${name}`));
  return found.length === 0 ? '' : meantText(found.slice(0, MOST_MEANT));
}

const MOST_MEANT = 3;
const meantText = (names: readonly string[]) => `; did you mean ${names.join(' or ')}?`;

const NOBODY = ', nor any other: name the manifests of pods and workloads too';
const OTHER_KINDS = ' (a Service is svc/NAME, a Deployment deploy/NAME)';

/** A pod without an address is judged with one that it may get; on the network of its node, with those of the node. */
export function podEndpoints(view: ClusterView, pod: Pod): readonly ResolvedEndpoint[] {
  const { cluster } = view;
  const { key, addresses, hostNetwork } = pod;
  if (addresses.length > 0) {
    for (const address of addresses) requireOwner(cluster, pod, address);
    return [{ name: key, addresses, pod, ...(hostNetwork && { isOnNode: true }) }];
  }
  if (!hostNetwork) return [{ name: key, addresses: [], unassigned: { within: podSpaces(cluster), pod } }];
  const node = cluster.nodes.get(pod.node);
  return nodeEndpoints(node === undefined ? [...cluster.nodes.values()] : [node], key);
}

function workloadPlaces(
  view: ClusterView,
  kind: WorkloadKind,
  namespace: string,
  name: string,
): readonly ResolvedEndpoint[] {
  const { inventory, cluster } = view;
  const id = workloadId(kind, namespace, name);
  const pods = [...cluster.pods.values()].filter(
    pod =>
      pod.namespace === namespace &&
      !pod.finished &&
      (workloadOf(inventory, pod).id === id || isOwnedBy(view, pod, kind, name)),
  );
  const ofWorkload = (places: readonly ResolvedEndpoint[]) =>
    places.map(place => ({ ...place, workload: id }));
  if (pods.length > 0) return ofWorkload(pods.flatMap(pod => podEndpoints(view, pod)));
  const workload = inventory.workloads.get(id) ?? topWorkloads(inventory).find(each => each.id === id);
  if (workload === undefined) throw new FlowTextError(noWorkload(view, kind, namespace, name));
  return ofWorkload(templateEndpoints(view, workload));
}

/** Whether a workload owns the pod, directly or through a ReplicaSet or a Job. */
function isOwnedBy({ inventory }: ClusterView, pod: Pod, kind: WorkloadKind, name: string): boolean {
  const owner = inventory.podOwners.get(pod.key);
  return owner?.kind === kind && owner.name === name;
}

function noWorkload(view: ClusterView, kind: WorkloadKind, namespace: string, name: string) {
  const { inventory, knowsInventory, mayNotList } = view;
  if (!knowsInventory && mayNotList === undefined)
    return `the agent knows no ${kind}s: name a pod, or ask the cluster (--kubeconfig) or --manifests`;
  const others = [...inventory.workloads.values()].filter(other => other.kind === kind);
  const near = others.filter(other => other.namespace === namespace).map(other => other.name);
  const close = didYouMean(name, near);
  const keys = others.map(other => workloadText(kind, other.namespace, other.name));
  const similar = close === undefined ? '' : meantText([workloadText(kind, namespace, close)]);
  return absent(view, kind, `${namespace}/${name}`, elsewhere(keys, name) || similar, namespace);
}

/** A pod that its template would make; one that has the network of its node is the node, to policy. */
export function templateEndpoints(view: ClusterView, workload: Workload): readonly ResolvedEndpoint[] {
  const { kind, namespace, name, labels, partial, ports, hostNetwork } = workload;
  const key = workloadText(kind, namespace, name);
  if (hostNetwork) return nodeEndpoints([...view.cluster.nodes.values()], key);
  const pod = { ...futurePod(key, namespace, labels), ports, ...(partial && { partial }) };
  return [{ name: key, addresses: [], unassigned: { within: podSpaces(view.cluster), pod } }];
}

/** What is on the network of one of these nodes. */
function nodeEndpoints(nodes: readonly Node[], key: string): readonly ResolvedEndpoint[] {
  const isOnNode = true;
  if (nodes.length === 0) return [{ name: key, addresses: [], unassigned: { within: PRIVATE }, isOnNode }];
  return nodes.map(node => ({
    name: `${key} on ${node.name}`,
    addresses: firstOfEach(addressesOfNode(node)),
    isOnNode,
  }));
}

function futureEndpoints(view: ClusterView, namespace: string, labels: Labels): readonly ResolvedEndpoint[] {
  const text = Object.entries(labels).map(label => label.join('='));
  const pod = futurePod(`${namespace}/${text.join(',')}`, namespace, labels);
  const given = view.cluster.pods.get(pod.key);
  if (given !== undefined) return podEndpoints(view, given);
  return [{ name: pod.key, addresses: [], unassigned: { within: podSpaces(view.cluster), pod } }];
}

function futurePod(key: PodKey, namespace: string, labels: Labels): Pod {
  const none = { node: '', addresses: [], hostNetwork: false, finished: false, createdAt: '', ports: [] };
  return { key, namespace, name: key.slice(key.indexOf('/') + 1), labels, ...none };
}

function nodeEndpoint(view: ClusterView, name: string): ResolvedEndpoint {
  const { nodes } = view.cluster;
  const node = nodes.get(name);
  if (node === undefined) {
    const close = didYouMean(name, [...nodes.keys()]);
    const hint = close === undefined ? '' : `; did you mean ${close}?`;
    throw new FlowTextError(absent(view, 'node', name, hint));
  }
  const addresses = firstOfEach(addressesOfNode(node));
  if (addresses.length === 0) throw new FlowTextError(`node ${name} has no address`);
  return { name: `node ${name}`, addresses };
}

function firstOfEach(addresses: readonly Address[]): Address[] {
  const isV6 = (address: Address) => address.includes(':');
  return [addresses.find(address => !isV6(address)), addresses.find(isV6)].flatMap(found => found ?? []);
}

function addressEndpoint(cluster: Cluster, address: Address): ResolvedEndpoint {
  const pod = addressOwners(cluster).get(address);
  return { name: pod?.key ?? address, addresses: [address], ...(pod && { pod }) };
}
