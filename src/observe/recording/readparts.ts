/** The parts of a recording, each from the JSON of its line. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { type Address, familyOf, parseAddress } from '../../model/address.ts';
import type { ContainerPort, Namespace, Node, Pod } from '../../model/cluster.ts';
import type { FlowProtocol } from '../../model/flow.ts';
import type { Labels } from '../../model/labels.ts';
import {
  podText,
  type RecordedEnd,
  type RecordedFlow,
  type Recording,
  type SilentPods,
} from './recording.ts';
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

/** The longest name of a namespace in Kubernetes: a line with a thousand of them is no longer than a line may be. */
const LONGEST_NAME = 63;
/** The latest time of a Date. */
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
    ...Object.fromEntries(
      MORE_ADDRESSES.flatMap(key => (value[key] === undefined ? [] : [[key, addresses(value[key])]])),
    ),
    ...linksOf(value),
  };
}

const MORE_ADDRESSES = ['externalIps', 'interfaceAddresses', 'tunnelAddresses'] as const;

/** The parts of a node's interfaces that can change a verdict. */
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

/** `pods`: the pods of earlier ends. An end with two addresses is one pod, which can reach itself. */
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
    ...(value.openEgress !== undefined && { openEgress: numberOf(value.openEgress, 'flow.openEgress') }),
    ...(value.openIngress !== undefined && { openIngress: numberOf(value.openIngress, 'flow.openIngress') }),
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

// Readers of the values of a line, each of which throws where the value is not valid.

export class LineError extends Error {
  override readonly name = 'LineError';
}

export type Values = Readonly<Record<string, unknown>>;

const LONGEST_TEXT = 1_000;

export function mapOf(value: unknown, what: string): Values {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Values;
  throw new LineError(`${what} is no map`);
}

function textOf(value: unknown, what: string, longest = LONGEST_TEXT): string {
  if (typeof value === 'string' && value.length <= longest) return value;
  throw new LineError(`${what} is no text of at most ${longest} characters`);
}

function listOf(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new LineError(`${what} is no list`);
}

function textsOf(value: unknown, what: string): readonly string[] {
  return listOf(value, what).map(each => textOf(each, what));
}

export function numberOf(value: unknown, what: string, most = Number.MAX_SAFE_INTEGER): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most) return value;
  throw new LineError(`${what} is no number from 0 to ${most}`);
}

function wordOf<T extends string>(value: unknown, words: readonly T[], what: string): T {
  const word = words.find(each => each === value);
  if (word !== undefined) return word;
  throw new LineError(`${what} is none of ${words.join(', ')}`);
}

function addressOf(value: unknown, what: string): Address {
  const address = parseAddress(textOf(value, what));
  if (address !== undefined) return address;
  throw new LineError(`${what} is no address`);
}

/** Own properties alone: a label may be called `__proto__`. */
function labelsOf(value: unknown, what: string): Labels {
  const entries = Object.entries(mapOf(value, what));
  return Object.fromEntries(entries.map(([key, label]) => [key, textOf(label, `${what}.${key}`)]));
}

function partialOf({ partial }: Values): { readonly partial?: true } {
  return partial === true ? { partial } : {};
}
