/**
 * The text form of flows:
 *
 *   flow  = from " -> " to [ " via service" ]
 *   from  = pod | address | "[" address "]"
 *   to    = ( pod | IPv4 | "[" address "]" ) [ ":" port ] [ "/" protocol ] | IPv6 [ "/" protocol ]
 *   pod   = namespace "/" name [ "@4" | "@6" ]
 *
 * The default protocol is TCP if there is a port, else ICMP. A port of a pod may be given by its name.
 */

import { didYouMean } from '../lib/text/didyoumean.ts';
import {
  type Address,
  FAMILY_NAME,
  type Family,
  familyOf,
  isLoopback,
  parseAddress,
} from '../model/address.ts';
import { addressOwners, ownerOf } from '../model/addressowners.ts';
import { addressesOfNode, type Cluster, type Pod, type PodKey } from '../model/cluster.ts';
import type { Flow, FlowProtocol } from '../model/flow.ts';
import { flowProtocol } from '../model/ipprotocol.ts';
import type { Protocol } from '../model/policy.ts';
import { NEVER_LEAVES } from '../model/unjudged.ts';

/** A flow that cannot be parsed, or that names something that the cluster does not have. */
export class FlowTextError extends Error {
  override readonly name = 'FlowTextError';
}

/** `shop/web -> shop/db:5432`, `10.0.0.1 -> [fd00::1]:53/UDP via service`. */
export function parseFlow(cluster: Cluster, text: string): Flow {
  const viaService = VIA_SERVICE.test(text);
  const pieces = text.replace(VIA_SERVICE, '').split('->');
  if (pieces.length !== 2)
    throw new FlowTextError(`cannot parse "${text}": expected FROM -> TO[:PORT][/PROTOCOL]`);
  const flow = parseFlowPieces(cluster, pieces[0]!.trim(), pieces[1]!.trim());
  return viaService ? { ...flow, viaService } : flow;
}

const VIA_SERVICE = /\s+via service\s*$/;

/** Parses a flow from its two ends, as the command line takes them: `shop/web`, `shop/db:5432/TCP`. */
export function parseFlowPieces(cluster: Cluster, from: string, to: string): Flow {
  const source = parseEnd(from);
  if (source.port ?? source.protocol) throw new FlowTextError(`"${from}": only the destination has a port`);
  const destination = parseEnd(to);
  refuseHiddenPort(cluster, destination);
  const family = commonFamily(cluster, source, destination);
  return {
    from: addressIn(cluster, source, family),
    to: addressIn(cluster, destination, family),
    ...protocolAndPort(cluster, destination),
  };
}

/**
 * `fd00::5:80` is an address by itself. If no pod has it but a pod has `fd00::5`, its author probably meant port 80 of
 * that pod, so the text is refused.
 */
function refuseHiddenPort(cluster: Cluster, { text, address, port }: End): void {
  const [, host = '', group] = /^([^[\]/]*):(\d+)(?:\/|$)/.exec(text) ?? [];
  const meant = port === undefined && address !== undefined ? parseAddress(host) : undefined;
  if (meant === undefined || familyOf(meant) === 'ip') return;
  const owners = addressOwners(cluster);
  if (owners.has(meant) && !owners.has(address!))
    throw new FlowTextError(
      `"${text}" is an address without a port: for port ${group} write [${meant}]:${group}`,
    );
}

/** The name of an end without port and protocol: `shop/web`, `10.0.0.1`. */
export function endName(text: string): string {
  const { pod, address } = parseEnd(text);
  return pod ?? address ?? text;
}

interface End {
  readonly text: string;
  readonly pod?: PodKey;
  readonly address?: Address;
  /** The family that the text asks for, if any. */
  readonly family?: Family;
  readonly port?: string;
  readonly protocol?: string;
}

const PORT = '(?::(?<port>[^:/]*))?';
const PROTOCOL = '(?:/(?<protocol>[^/]*))?';
const V4 = new RegExp(`^(?<address>\\d+(?:\\.\\d+){3})${PORT}${PROTOCOL}$`);
const BRACKETED = new RegExp(`^\\[(?<address>[^\\]]*)\\]${PORT}${PROTOCOL}$`);
const V6 = new RegExp(`^(?<address>[^/]*:[^/]*:[^/]*)${PROTOCOL}$`);
const POD = new RegExp(`^(?<pod>[^/:@]+/[^/:@]+)(?:@(?<family>[46]))?${PORT}${PROTOCOL}$`);

function parseEnd(text: string): End {
  const match = V4.exec(text) ?? BRACKETED.exec(text) ?? V6.exec(text) ?? POD.exec(text);
  if (match === null)
    throw new FlowTextError(`"${text}" is neither namespace/pod nor an address${OF_A_SERVICE}`);
  const { pod, address, family, port, protocol } = match.groups ?? {};
  const rest = { text, ...(port !== undefined && { port }), ...(protocol !== undefined && { protocol }) };
  if (pod !== undefined)
    return { ...rest, pod: pod as PodKey, ...(family && { family: family === '4' ? 'ip' : 'ip6' }) };
  const parsed = parseAddress(address!);
  if (parsed === undefined) throw new FlowTextError(`"${text}": "${address}" is not an address`);
  if (isLoopback(parsed)) throw new FlowTextError(`"${text}": ${NEVER_LEAVES}`);
  return { ...rest, address: parsed, family: familyOf(parsed) };
}

/** The family that an end asks for, else the first one of the source that the destination has too. */
function commonFamily(cluster: Cluster, from: End, to: End): Family {
  if (from.family && to.family && from.family !== to.family)
    throw new FlowTextError(`"${from.text}" and "${to.text}" are not of one address family`);
  const asked = from.family ?? to.family;
  if (asked !== undefined) return asked;
  const there = addressesOf(cluster, to).map(familyOf);
  const family = addressesOf(cluster, from)
    .map(familyOf)
    .find(family => there.includes(family));
  if (family === undefined)
    throw new FlowTextError(`pods ${from.pod} and ${to.pod} have no address family in common`);
  return family;
}

function addressIn(cluster: Cluster, end: End, family: Family): Address {
  if (end.address !== undefined) return end.address;
  const address = addressesOf(cluster, end).find(address => familyOf(address) === family);
  if (address === undefined) throw new FlowTextError(`pod ${end.pod} has no ${FAMILY_NAME[family]} address`);
  requireOwner(cluster, cluster.pods.get(end.pod!)!, address);
  return address;
}

/** Throws if another pod owns the address by now: the answer would be about that pod (N47, N49). */
export function requireOwner(cluster: Cluster, pod: Pod, address: Address): void {
  if (pod.hostNetwork) return;
  const owner = ownerOf(cluster, address);
  if (owner !== undefined && owner !== pod)
    throw new FlowTextError(`pod ${pod.key} reports ${address}, which belongs to pod ${owner.key} now`);
}

function addressesOf(cluster: Cluster, { pod: key }: End): readonly Address[] {
  const pod = cluster.pods.get(key!);
  if (pod === undefined) throw new FlowTextError(`there is no pod ${key}${meant(cluster, key!)}`);
  if (pod.finished)
    throw new FlowTextError(
      `pod ${key} has finished: its address (${pod.addresses.join(', ') || 'none'}) is free for other pods, and no policy applies to it`,
    );
  if (pod.addresses.length === 0) throw new FlowTextError(`pod ${key} has no address yet`);
  return pod.addresses;
}

const OF_A_SERVICE = ' (for a Service, ask for a pod behind it)';

/** A suggestion for a wrong pod name: a node by its addresses, or a pod of the same namespace. */
function meant(cluster: Cluster, key: PodKey): string {
  const node = key.startsWith('node/') ? cluster.nodes.get(key.slice('node/'.length)) : undefined;
  if (node !== undefined)
    return `; a node is asked about by its address: ${addressesOfNode(node).join(' or ')}`;
  const start = key.indexOf('/') + 1;
  const neighbours = [...cluster.pods.keys()].filter(other => other.startsWith(key.slice(0, start)));
  const names = neighbours.map(other => other.slice(start));
  const close = didYouMean(key.slice(start), names);
  return close === undefined ? OF_A_SERVICE : `; did you mean ${key.slice(0, start)}${close}?`;
}

function protocolAndPort(cluster: Cluster, end: End): Pick<Flow, 'protocol' | 'port'> {
  const { text, port, protocol } = end;
  const parsed =
    protocol === undefined ? (port === undefined ? 'ICMP' : 'TCP') : parseProtocol(text, protocol);
  if (parsed === 'TCP' || parsed === 'UDP' || parsed === 'SCTP')
    return { protocol: parsed, port: parsePort(cluster, end, parsed) };
  if (port !== undefined) throw new FlowTextError(`"${text}": protocol ${protocol} has no ports`);
  return { protocol: parsed };
}

function parsePort(cluster: Cluster, end: End, protocol: Protocol): number {
  const { text, port } = end;
  if (port === undefined) throw new FlowTextError(`"${text}": ${protocol} needs a port`);
  const number = /^\d+$/.test(port) ? Number(port) : (namedPort(cluster, end, port, protocol) ?? 0);
  if (number >= 1 && number <= 65535) return number;
  const who = /[a-z]/i.test(port) ? `, nor the name of one of ${end.pod ?? end.address}` : '';
  throw new FlowTextError(`"${text}": "${port}" is not a port from 1 to 65535${who}`);
}

/** The port number of the name in the pod that the question is about: it may differ from pod to pod. */
function namedPort(
  cluster: Cluster,
  { pod: key, address }: End,
  name: string,
  protocol: Protocol,
): number | undefined {
  const pod = address === undefined ? cluster.pods.get(key!) : addressOwners(cluster).get(address);
  return pod?.ports.find(port => port.name === name && port.protocol === protocol)?.port;
}

export function parseProtocol(text: string, protocol: string): FlowProtocol {
  const named = NAMED[protocol.toUpperCase()];
  if (named !== undefined) return named;
  const number = /^\d+$/.test(protocol) ? Number(protocol) : 256;
  if (number > 255)
    throw new FlowTextError(`"${text}": "${protocol}" is not TCP, UDP, SCTP, ICMP or an IP protocol number`);
  return flowProtocol(number);
}

const NAMED: Record<string, FlowProtocol | undefined> = {
  TCP: 'TCP',
  UDP: 'UDP',
  SCTP: 'SCTP',
  ICMP: 'ICMP',
  ICMPV6: 'ICMP',
};

/** `10.0.0.1 -> [fd00::1]:53/UDP`: `parseFlow` reads the same flow from it. */
export function flowText({ from, to, protocol, port, viaService }: Flow): string {
  const host = port !== undefined && familyOf(to) === 'ip6' ? `[${to}]` : to;
  const suffix = `${port === undefined ? '' : `:${port}`}/${protocol}${viaService ? ' via service' : ''}`;
  return `${from} -> ${host}${suffix}`;
}
