/** The parts of a recording, each from the JSON of its line. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { familyOf } from '../../model/address.ts';
import type { ContainerPort, Namespace, Node, Pod } from '../../model/cluster.ts';
import type { FlowProtocol } from '../../model/flow.ts';
import {
  podText,
  type RecordedEnd,
  type RecordedFlow,
  type Recording,
  type SilentPods,
} from './recording.ts';
import {
  addressOf,
  LineError,
  labelsOf,
  listOf,
  mapOf,
  numberOf,
  partialOf,
  textOf,
  textsOf,
  type Values,
  wordOf,
} from './values.ts';
import { RECORDING } from './write.ts';

export function readHeader(value: Values): Omit<Recording, 'namespaces' | 'nodes' | 'flows' | 'silent'> {
  if (value.kind !== RECORDING.kind) throw new LineError('is not what `sluice record` writes');
  if (value.apiVersion !== RECORDING.apiVersion)
    throw new LineError(`apiVersion is not ${RECORDING.apiVersion}: another version of sluice wrote it`);
  const leftOut = listOf(value.leftOut, 'leftOut').map(each => mapOf(each, 'leftOut'));
  if (new Set(leftOut.map(({ namespace }) => namespace)).size < leftOut.length)
    throw new LineError('leftOut has a namespace twice');
  return {
    fromMs: numberOf(value.fromMs, 'fromMs', LATEST_MS),
    toMs: numberOf(value.toMs, 'toMs', LATEST_MS),
    recordedOn: textsOf(value.recordedOn, 'recordedOn'),
    ...(value.missedOn !== undefined && { missedOn: textsOf(value.missedOn, 'missedOn') }),
    unknownPods: wordOf(value.unknownPods, ['deny', 'allow'], 'unknownPods'),
    lost: numberOf(value.lost, 'lost'),
    leftOut: new Map(
      leftOut.map(({ namespace, connections }) => [
        textOf(namespace, 'leftOut.namespace', LONGEST_NAME),
        numberOf(connections, 'leftOut.connections'),
      ]),
    ),
  };
}

/** Of a namespace, as Kubernetes has it: a line that has a thousand is no longer than a line may be. */
const LONGEST_NAME = 63;
/** The last that a Date can say. */
const LATEST_MS = 8.64e15;

export function readNamespacePart(part: unknown): Namespace {
  const value = mapOf(part, 'namespace');
  return {
    name: textOf(value.name, 'namespace.name'),
    labels: labelsOf(value.labels, 'namespace.labels'),
    ...partialOf(value),
  };
}

export function readNode(part: unknown): Node {
  const value = mapOf(part, 'node');
  const addresses = (list: unknown) =>
    listOf(list, 'node.addresses').map(each => addressOf(each, 'node.addresses'));
  return {
    name: textOf(value.name, 'node.name'),
    labels: labelsOf(value.labels, 'node.labels'),
    ...partialOf(value),
    addresses: addresses(value.addresses),
    podCidrs: textsOf(value.podCidrs, 'node.podCidrs'),
    ...(value.interfaceAddresses !== undefined && {
      interfaceAddresses: addresses(value.interfaceAddresses),
    }),
    ...linksOf(value),
  };
}

/** What of a node's interfaces changes a verdict. */
function linksOf(value: Values): Pick<Node, 'links'> {
  const { tunnels, podTunnels } = value;
  if (tunnels === undefined && podTunnels === undefined) return {};
  const numbers = (list: unknown) => listOf(list, 'node.tunnels').map(each => numberOf(each, 'node.tunnels'));
  const own = tunnels === undefined ? undefined : mapOf(tunnels, 'node.tunnels');
  return {
    links: {
      uplinks: [],
      podBridges: [],
      ...(own && { tunnels: { ports: numbers(own.ports), protocols: numbers(own.protocols) } }),
      ...(podTunnels === 'allow' && { podTunnels }),
    },
  };
}

export function readSilent(part: unknown): SilentPods {
  const value = mapOf(part, 'silent');
  return {
    namespace: textOf(value.namespace, 'silent.namespace'),
    labels: labelsOf(value.labels, 'silent.labels'),
  };
}

/** `pods`: those of the ends before. One that has two addresses is one pod, and reaches itself. */
export function readEnd(part: unknown, pods: Map<string, Pod>): RecordedEnd {
  const value = mapOf(part, 'end');
  const address = addressOf(value.address, 'end.address');
  if (value.pod === undefined) return { address };
  const pod = readPod(mapOf(value.pod, 'end.pod'));
  return { address, pod: getOrMake(pods, podText(pod), () => pod) };
}

function readPod(value: Values): Pod {
  const namespace = textOf(value.namespace, 'end.pod.namespace');
  const name = textOf(value.name, 'end.pod.name');
  return {
    key: `${namespace}/${name}`,
    namespace,
    name,
    node: textOf(value.node, 'end.pod.node'),
    labels: labelsOf(value.labels, 'end.pod.labels'),
    ...partialOf(value),
    addresses: [],
    hostNetwork: false,
    finished: false,
    createdAt: '',
    ports: value.ports === undefined ? [] : listOf(value.ports, 'end.pod.ports').map(readPort),
  };
}

function readPort(part: unknown): ContainerPort {
  const value = mapOf(part, 'end.pod.ports');
  return {
    name: textOf(value.name, 'end.pod.ports.name'),
    protocol: wordOf(value.protocol, ['TCP', 'UDP', 'SCTP'], 'end.pod.ports.protocol'),
    port: numberOf(value.port, 'end.pod.ports.port', 65_535),
  };
}

export function readFlow(part: unknown, ends: readonly RecordedEnd[]): RecordedFlow {
  const value = mapOf(part, 'flow');
  const [from, to] = [endAt(value.from, ends, 'flow.from'), endAt(value.to, ends, 'flow.to')];
  if (familyOf(from.address) !== familyOf(to.address))
    throw new LineError('flow goes from one address family to the other');
  return {
    from,
    to,
    protocol: readProtocol(value.protocol),
    ...(value.port !== undefined && { port: numberOf(value.port, 'flow.port', 65_535) }),
    ...(value.viaService === true && { viaService: true }),
    ...(value.names !== undefined && { names: textsOf(value.names, 'flow.names') }),
    was: wordOf(value.was, ['allow', 'deny'], 'flow.was'),
    egress: numberOf(value.egress, 'flow.egress'),
    ingress: numberOf(value.ingress, 'flow.ingress'),
    firstMs: numberOf(value.firstMs, 'flow.firstMs', LATEST_MS),
    lastMs: numberOf(value.lastMs, 'flow.lastMs', LATEST_MS),
  };
}

function endAt(value: unknown, ends: readonly RecordedEnd[], what: string): RecordedEnd {
  const end = typeof value === 'number' ? ends[value] : undefined;
  if (end === undefined) throw new LineError(`${what} is no end of the lines before`);
  return end;
}

function readProtocol(value: unknown): FlowProtocol {
  if (typeof value === 'number') return numberOf(value, 'flow.protocol', 255);
  return wordOf(value, PROTOCOLS, 'flow.protocol');
}

const PROTOCOLS = ['TCP', 'UDP', 'SCTP', 'ICMP'] as const;
