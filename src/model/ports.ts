/** The ports of one rule, without repetitions. */

import { getOrMake } from '../lib/collections/getormake.ts';
import type { ContainerPort } from './cluster.ts';
import type { PortMatch, Protocol } from './policy.ts';

export type NamedPort = Extract<PortMatch, { kind: 'named' }>;
export type PortRange = Extract<PortMatch, { kind: 'range' }>;
export type NumberedPort = Exclude<PortMatch, NamedPort>;

/** C27: without a protocol, the port has the container port's own. */
export function namedPortMatches({ name, protocol }: NamedPort, declared: ContainerPort): boolean {
  return declared.name === name && (protocol === undefined || declared.protocol === protocol);
}

export interface MergedPorts {
  /** Protocols of which all ports are included. */
  readonly protocols: readonly Protocol[];
  /** Ranges of the other protocols, sorted; ranges of one protocol neither overlap nor touch. */
  readonly ranges: readonly PortRange[];
}

/** Sorts the ranges and merges them in one pass, so that it costs little more than reading them. */
export function mergePorts(ports: readonly NumberedPort[]): MergedPorts {
  const whole = new Set<Protocol>();
  const byProtocol = new Map<Protocol, PortRange[]>();
  for (const port of ports) {
    if (port.kind === 'protocol') whole.add(port.protocol);
    // C26: a range that ends before it starts matches nothing.
    else if (port.first <= port.last) listOf(byProtocol, port.protocol).push(port);
  }
  const ranges = [...byProtocol].flatMap(([protocol, found]) => (whole.has(protocol) ? [] : merge(found)));
  return { protocols: [...whole], ranges };
}

export function countPorts({ protocols, ranges }: MergedPorts): number {
  return protocols.length + ranges.length;
}

function merge(ranges: PortRange[]): PortRange[] {
  const merged: PortRange[] = [];
  for (const range of ranges.sort((a, b) => a.first - b.first)) {
    const before = merged.at(-1);
    if (before === undefined || range.first > before.last + 1) merged.push(range);
    else if (range.last > before.last) merged[merged.length - 1] = { ...before, last: range.last };
  }
  return merged;
}

function listOf(lists: Map<Protocol, PortRange[]>, protocol: Protocol): PortRange[] {
  return getOrMake(lists, protocol, () => []);
}
