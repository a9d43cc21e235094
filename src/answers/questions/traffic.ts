/**
 * The two files that policy-assistant takes, as questions:
 *
 *   traffic   [{ Source, Destination, Protocol, ResolvedPort, ResolvedPortName }], where an end has an IP, or is
 *             Internal: { Workload } or { Namespace, NamespaceLabels, PodLabels }
 *   probe     { Probes: [{ Protocol, Port }], Resources: { Namespaces: { name: labels }, Pods: [...] } }
 */
import { type Address, parseAddress } from '../../model/address.ts';
import {
  type Cluster,
  type ContainerPort,
  NAMESPACE_NAME_LABEL,
  type Namespace,
  type Pod,
  type PodKey,
} from '../../model/cluster.ts';
import type { Labels } from '../../model/labels.ts';
import type { Protocol } from '../../model/policy.ts';
import { FlowTextError } from '../../semantics/flowtext.ts';

/** Facts about the cluster in a file of questions; those of the cluster itself come first. */
export interface Given {
  readonly namespaces: readonly Namespace[];
  readonly pods: readonly Pod[];
}

export interface GivenQuestion {
  readonly from: string;
  readonly to: string;
  readonly given?: Given;
}

export function withGiven(cluster: Cluster, { namespaces, pods }: Given): Cluster {
  return {
    ...cluster,
    namespaces: new Map([...namespaces.map(each => [each.name, each] as const), ...cluster.namespaces]),
    pods: new Map([...pods.map(pod => [pod.key, pod] as const), ...cluster.pods]),
  };
}

/** Throws FlowTextError where the value is neither. */
export function questionsIn(value: unknown): readonly GivenQuestion[] {
  if (Array.isArray(value)) return value.map((item, index) => trafficQuestion(mapOf(item), `[${index}]`));
  const { Probes, Resources } = mapOf(value);
  if (!Array.isArray(Probes)) throw new FlowTextError('is neither a list of traffic nor a probe with Probes');
  return probeQuestions(Probes.map(mapOf), mapOf(Resources));
}

function trafficQuestion(traffic: JsonMap, path: string): GivenQuestion {
  const protocol = protocolIn(traffic, path);
  const { ResolvedPort: port, ResolvedPortName: portName } = traffic;
  const isPort = typeof port === 'number' && Number.isInteger(port);
  if (port !== undefined && !isPort) throw new FlowTextError(`${path}.ResolvedPort is not a port`);
  const named = typeof portName === 'string' && portName !== '' && isPort;
  const ports = named ? [{ name: portName, protocol: protocol as Protocol, port }] : [];
  const ends = [
    endOf(mapOf(traffic.Source), `${path}.Source`, []),
    endOf(mapOf(traffic.Destination), `${path}.Destination`, ports),
  ] as const;
  const [from, to] = ends[0].text === ends[1].text ? [byAddress(ends[0]), byAddress(ends[1])] : ends;
  const given = { namespaces: [...from.namespaces, ...to.namespaces], pods: [...from.pods, ...to.pods] };
  return { from: from.text, to: withPort(to.text, isPort ? port : undefined, protocol), given };
}

interface GivenEnd extends Given {
  readonly text: string;
}

function endOf(end: JsonMap, path: string, ports: readonly ContainerPort[]): GivenEnd {
  const { IP, Internal } = end;
  const address = typeof IP === 'string' ? parseAddress(IP) : undefined;
  if (Internal === undefined || Internal === null) return outside(address, path);
  const { Workload, Namespace: namespace, NamespaceLabels, PodLabels } = mapOf(Internal);
  if (typeof Workload === 'string' && Workload !== '') return { text: Workload, namespaces: [], pods: [] };
  if (typeof namespace !== 'string')
    throw new FlowTextError(`${path}.Internal has neither Workload nor Namespace`);
  const labels = labelsOf(PodLabels);
  const list = Object.entries(labels).map(label => label.join('='));
  const key: PodKey = `${namespace}/${list.join(',') || NO_LABELS}`;
  const named = NamespaceLabels === undefined ? [] : [namespaceOf(namespace, labelsOf(NamespaceLabels))];
  const pod = podOf(key, namespace, labels, address === undefined ? [] : [address], ports);
  return { text: key, namespaces: named, pods: [pod] };
}

/** Two pods with the same labels are distinguished by their addresses, if they have some. */
function byAddress(end: GivenEnd): GivenEnd {
  const [pod] = end.pods;
  const address = pod?.addresses[0];
  if (address === undefined) return end;
  return { ...end, text: address, pods: [{ ...pod!, key: `${pod!.key} (${address})` }] };
}

/** No pod has such a name. */
const NO_LABELS = 'without_labels';

function outside(address: Address | undefined, path: string): GivenEnd {
  if (address === undefined) throw new FlowTextError(`${path} has neither Internal nor an IP address`);
  return { text: address, namespaces: [], pods: [] };
}

function probeQuestions(probes: readonly JsonMap[], resources: JsonMap): readonly GivenQuestion[] {
  const list = Array.isArray(resources.Pods) ? resources.Pods.map(mapOf) : [];
  const pods = list.map((pod, index) => probedPod(pod, `Resources.Pods[${index}]`));
  const namespaces = Object.entries(mapOf(resources.Namespaces)).map(([name, labels]) =>
    namespaceOf(name, labelsOf(labels)),
  );
  const given = { namespaces, pods };
  return probes.flatMap((probe, index) => {
    const protocol = protocolIn(probe, `Probes[${index}]`);
    const { Port: port } = probe;
    if (typeof port !== 'number' && typeof port !== 'string')
      throw new FlowTextError(`Probes[${index}].Port is not a port`);
    return pods.flatMap(from =>
      pods.map(to => ({ from: from.key, to: withPort(to.key, port, protocol), given })),
    );
  });
}

function probedPod(pod: JsonMap, path: string): Pod {
  const { Namespace: namespace, Name: name, Labels: labels, IP, Containers } = pod;
  if (typeof namespace !== 'string' || typeof name !== 'string')
    throw new FlowTextError(`${path} has no Namespace or no Name`);
  const address = typeof IP === 'string' ? parseAddress(IP) : undefined;
  const containers = Array.isArray(Containers) ? Containers.map(mapOf) : [];
  const ports = containers.flatMap(container => {
    const { Port: port, PortName } = container;
    if (typeof port !== 'number' || typeof PortName !== 'string') return [];
    return [{ name: PortName, protocol: protocolIn(container, path) as Protocol, port }];
  });
  return podOf(
    `${namespace}/${name}`,
    namespace,
    labelsOf(labels),
    address === undefined ? [] : [address],
    ports,
  );
}

function podOf(
  key: PodKey,
  namespace: string,
  labels: Labels,
  addresses: readonly Address[],
  ports: readonly ContainerPort[],
): Pod {
  const name = key.slice(namespace.length + 1);
  return {
    key,
    namespace,
    name,
    labels,
    node: '',
    addresses,
    hostNetwork: false,
    finished: false,
    createdAt: '',
    ports,
  };
}

function namespaceOf(name: string, labels: Labels): Namespace {
  return { name, labels: { ...labels, [NAMESPACE_NAME_LABEL]: name } };
}

const PROTOCOLS = ['TCP', 'UDP', 'SCTP', 'ICMP'];

function protocolIn({ Protocol: protocol }: JsonMap, path: string): string {
  const upper = String(protocol ?? 'TCP').toUpperCase();
  if (!PROTOCOLS.includes(upper)) throw new FlowTextError(`${path}.Protocol is not TCP, UDP, SCTP or ICMP`);
  return upper;
}

function withPort(text: string, port: number | string | undefined, protocol: string): string {
  const host = text.includes(':') ? `[${text}]` : text;
  return `${host}${port === undefined ? '' : `:${port}`}/${protocol}`;
}

type JsonMap = Readonly<Record<string, unknown>>;

function mapOf(value: unknown): JsonMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonMap) : {};
}

function labelsOf(value: unknown): Labels {
  return Object.fromEntries(Object.entries(mapOf(value)).map(([key, label]) => [key, String(label)]));
}
