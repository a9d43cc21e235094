/** The ports of a set of rules, each with the peers of all rules that name it. */

import { getOrMake } from '../lib/collections/getormake.ts';
import type { Protocol } from '../model/policy.ts';
import type { NumberedPort, PortRange } from '../model/ports.ts';
import type { LabelledPeers } from './labelled.ts';
import type { NumberedRule } from './rulesofrun.ts';

/** Destination ports, and who is allowed there by which rule. */
export interface PortGroup<Ports = NumberedPort | 'any'> {
  readonly ports: Ports;
  readonly peerLists: LabelledPeers[];
}

// Expanding a range costs an element a port; a range by two compares costs 19 ns a packet (measured).
const WIDEST_EXPANDED_RANGE = 64;
const MOST_EXPANDED = 1_024;

/** In the order in which the rules name them first. Narrow ranges become single ports, while those are few. */
export function portGroupsOf(rules: readonly NumberedRule[]): PortGroup[] {
  const widest = countExpanded(rules) <= MOST_EXPANDED ? WIDEST_EXPANDED_RANGE : 1;
  const groups = new Map<string, PortGroup>();
  for (const { label, peers, ports } of rules) {
    for (const part of partsOf(ports, widest))
      getOrMake(groups, keyOf(part), () => ({ ports: part, peerLists: [] })).peerLists.push({ label, peers });
  }
  return [...groups.values()];
}

/** How many single ports the narrow ranges of the rules are. */
function countExpanded(rules: readonly NumberedRule[]): number {
  let count = 0;
  for (const { ports } of rules) {
    for (const range of ports === 'any' ? [] : ports.ranges) {
      const width = widthOf(range);
      if (width > 1 && width <= WIDEST_EXPANDED_RANGE) count += width;
    }
  }
  return count;
}

function* partsOf(ports: NumberedRule['ports'], widest: number): Generator<NumberedPort | 'any'> {
  if (ports === 'any') {
    yield ports;
    return;
  }
  for (const protocol of ports.protocols) yield { kind: 'protocol', protocol };
  for (const range of ports.ranges) {
    if (widthOf(range) > widest) yield range;
    else for (let port = range.first; port <= range.last; port++) yield { ...range, first: port, last: port };
  }
}

function widthOf({ first, last }: PortRange): number {
  return last - first + 1;
}

function keyOf(ports: PortGroup['ports']): string {
  if (ports === 'any') return 'any';
  return ports.kind === 'protocol' ? ports.protocol : `${ports.protocol} ${ports.first}-${ports.last}`;
}

export function isExact(group: PortGroup): group is PortGroup<PortRange> {
  const { ports } = group;
  return ports !== 'any' && ports.kind === 'range' && ports.first === ports.last;
}

/** More than one port, and not all of a protocol. */
export function isRange(group: PortGroup): group is PortGroup<PortRange> {
  const { ports } = group;
  return ports !== 'any' && ports.kind === 'range' && ports.first < ports.last;
}

export function l4(protocol: Protocol): 'tcp' | 'udp' | 'sctp' {
  return protocol.toLowerCase() as 'tcp' | 'udp' | 'sctp';
}
