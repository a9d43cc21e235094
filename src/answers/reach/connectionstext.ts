/** Sets of connections in words: `TCP 80,443; UDP 53`, `all but TCP 22`. */
import type { Family } from '../../model/address.ts';
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
  const common = commonNames(pool, connections);
  const withPorts = PROTOCOLS.flatMap(protocol => {
    const ports = connections[protocol];
    if (ports === pool.all[protocol] || `${ports}` === `${pool.all[protocol]}`) return [`all ${protocol}`];
    const text = portsText(pool, ports, common);
    return text === '' ? [] : [`${protocol} ${text}`];
  });
  const named = common.length === 0 ? [] : [`port ${common}`];
  return [...withPorts, ...named, ...otherTexts(pool, connections.other)].join('; ');
}

/** Ports that are meant by their name alone, of whatever protocol. */
function commonNames(pool: ConnectionPool, connections: Connections): readonly string[] {
  const [first, ...others] = PROTOCOLS.map(protocol => pool.numbersAndNames(connections[protocol]).names);
  return first!.filter(name => others.every(names => names.includes(name)));
}

function otherTexts(pool: ConnectionPool, other: Toggles): string[] {
  if (`${other}` === `${pool.all.other}`) return ['ICMP and other protocols'];
  const numbers = combine(other, [ICMP, ICMP + 1], DIFFERENCE);
  const icmp = numbers.length === other.length && `${numbers}` === `${other}` ? [] : ['ICMP'];
  return [...icmp, ...(numbers.length === 0 ? [] : [`protocols ${toggleRanges(numbers, 1).map(rangeText)}`])];
}

/** `80,443`; `80,http`, where a port is meant by its name. */
function portsText(pool: ConnectionPool, ports: Toggles, common: readonly string[]): string {
  const { ranges, names } = pool.numbersAndNames(ports);
  return [...ranges.map(rangeText), ...names.filter(name => !common.includes(name))].join(',');
}

function rangeText({ first, last }: { readonly first: number; readonly last: number }): string {
  return first === last ? `${first}` : `${first}-${last}`;
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
  const pairs = (ports: Toggles) => pool.numbersAndNames(ports).ranges.map(pairOf);
  return {
    text: connectionsText(pool, connections),
    tcp: pairs(TCP),
    udp: pairs(UDP),
    sctp: pairs(SCTP),
    icmp: `${numbers}` !== `${other}`,
    protocols: toggleRanges(numbers, 1).map(pairOf),
  };
}

/** Where one end is a pod that is not there yet, whose ports may have any number under the names that rules mean. */
export interface NewPodConnectionsObject extends ConnectionsObject {
  /** `TCP http`: the port of this name, even if its number is not listed. */
  readonly named?: readonly string[];
  /** The port of this name is not allowed, though numbers that no rule means are. */
  readonly exceptNamed?: readonly string[];
}

export function newPodConnectionsObject(
  pool: ConnectionPool,
  connections: Connections,
): NewPodConnectionsObject {
  const texts = (namesOf: (ports: Toggles) => readonly string[]) =>
    PROTOCOLS.flatMap(protocol => namesOf(connections[protocol]).map(name => `${protocol} ${name}`));
  const named = texts(ports => pool.numbersAndNames(ports).names);
  const exceptNamed = texts(ports => pool.namesWithout(ports));
  return {
    ...connectionsObject(pool, connections),
    ...(named.length > 0 && { named }),
    ...(exceptNamed.length > 0 && { exceptNamed }),
  };
}

function pairOf({ first, last }: { readonly first: number; readonly last: number }): [number, number] {
  return [first, last];
}

/** One text for both families if they are the same. */
export function cellText(pool: ConnectionPool, cell: Cell): string {
  const [v4, v6] = [familyText(pool, cell, 'ip'), familyText(pool, cell, 'ip6')];
  const only = v4 ?? v6;
  if (only === undefined) return 'none';
  return v4 === undefined || v6 === undefined || v4 === v6 ? only : `IPv4 ${v4} | IPv6 ${v6}`;
}

/** `TCP 80; undecided UDP 53`; undefined if the two have no address of the family in common. */
export function familyText(pool: ConnectionPool, cell: Cell, family: Family): string | undefined {
  const [connections, undecided] = [cell[family], cell.undecided?.[family]];
  if (connections === undefined) return undefined;
  if (undecided === undefined) return connectionsText(pool, connections);
  const perhaps = `undecided ${connectionsText(pool, undecided)}`;
  return connections === pool.none ? perhaps : `${connectionsText(pool, connections)}; ${perhaps}`;
}
