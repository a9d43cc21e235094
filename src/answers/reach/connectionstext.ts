/** Sets of connections in words: `TCP 80,443; UDP 53`, `all but TCP 22`. */
import { PROTOCOLS } from '../../model/policy.ts';
import { type ConnectionPool, type Connections, ICMP } from './connections.ts';
import type { Cell } from './places.ts';
import { combine, DIFFERENCE, type Toggles, toggleRanges } from './regions.ts';

/** The set as text: its members, or `all but` the others, whichever is shorter. */
export function connectionsText(pool: ConnectionPool, connections: Connections): string {
  if (connections === pool.none) return 'none';
  if (connections === pool.all) return 'all';
  const [some, others] = [listText(pool, connections), exceptionText(pool, connections)];
  return others.length < some.length ? others : some;
}

function exceptionText(pool: ConnectionPool, connections: Connections): string {
  const missing = pool.minus(pool.all, connections);
  // Tunnels are denied to every pod that sends to a node, so the text has a name for them.
  const hasTunnels = pool.and(missing, pool.tunnels) === pool.tunnels;
  const rest = hasTunnels ? pool.minus(missing, pool.tunnels) : missing;
  const parts = [...(rest === pool.none ? [] : [listText(pool, rest)]), ...(hasTunnels ? ['tunnels'] : [])];
  return `all but ${parts.join('; ')}`;
}

function listText(pool: ConnectionPool, connections: Connections): string {
  const withPorts = PROTOCOLS.flatMap(protocol => {
    const ports = connections[protocol];
    if (ports.length === 0) return [];
    return ports === pool.all[protocol] || `${ports}` === `${pool.all[protocol]}`
      ? [`all ${protocol}`]
      : [`${protocol} ${portRangesText(ports)}`];
  });
  return [...withPorts, ...otherTexts(pool, connections.other)].join('; ');
}

function otherTexts(pool: ConnectionPool, other: Toggles): string[] {
  if (`${other}` === `${pool.all.other}`) return ['ICMP and other protocols'];
  const numbers = combine(other, [ICMP, ICMP + 1], DIFFERENCE);
  const icmp = numbers.length === other.length && `${numbers}` === `${other}` ? [] : ['ICMP'];
  return [...icmp, ...(numbers.length === 0 ? [] : [`protocols ${portRangesText(numbers)}`])];
}

function portRangesText(toggles: Toggles): string {
  return toggleRanges(toggles, 1)
    .map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`))
    .join(',');
}

/** A set of connections as JSON. */
export interface ConnectionsObject {
  readonly text: string;
  /** Pairs of a first and a last port. */
  readonly tcp: readonly (readonly [number, number])[];
  readonly udp: readonly (readonly [number, number])[];
  readonly sctp: readonly (readonly [number, number])[];
  readonly icmp: boolean;
  /** Numbers of other IP protocols, in pairs as well. */
  readonly protocols: readonly (readonly [number, number])[];
}

export function connectionsObject(pool: ConnectionPool, connections: Connections): ConnectionsObject {
  const { TCP, UDP, SCTP, other } = connections;
  const numbers = combine(other, [ICMP, ICMP + 1], DIFFERENCE);
  return {
    text: connectionsText(pool, connections),
    tcp: pairs(TCP),
    udp: pairs(UDP),
    sctp: pairs(SCTP),
    icmp: `${numbers}` !== `${other}`,
    protocols: pairs(numbers),
  };
}

function pairs(toggles: Toggles): [number, number][] {
  return toggleRanges(toggles, 1).map(({ first, last }) => [first, last]);
}

/** One text for both families if they are the same. */
export function cellText(pool: ConnectionPool, { ip, ip6 }: Cell): string {
  const only = ip ?? ip6;
  if (only === undefined) return 'none';
  if (ip === undefined || ip6 === undefined || ip === ip6) return connectionsText(pool, only);
  return `IPv4 ${connectionsText(pool, ip)} | IPv6 ${connectionsText(pool, ip6)}`;
}
