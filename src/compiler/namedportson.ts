/**
 * The numbers of the named ports of policies on the pod that is the destination (N29). A policy may have thousands of
 * names and a pod thousands of ports: the cost grows with the smaller number.
 */

import { getOrMake } from '../lib/collections/getormake.ts';
import type { Pod } from '../model/cluster.ts';
import type { Policy, Rule } from '../model/policy.ts';
import type { NamedPort, PortRange } from '../model/ports.ts';

const NO_RULES: readonly Rule[] = [];

export type ResolvedPort = readonly [NamedPort, readonly PortRange[]];

/** The named ports in the policies' ingress rules that the pod has, in a stable order. */
export function namedPortsOn({ ports }: Pick<Pod, 'ports'>, policies: readonly Policy[]): ResolvedPort[] {
  if (ports.length === 0) return [];
  const named = new Map<string, NamedPort>();
  for (const { ingress } of policies) {
    const its = namedPortsOf(ingress ?? NO_RULES);
    if (its.size > 0) for (const [key, port] of thoseOn(ports, its)) named.set(key, port);
  }
  return [...named.entries()]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, port]): ResolvedPort => [port, resolvedOn({ ports }, port)]);
}

export function resolvedOn(
  { ports }: Pick<Pod, 'ports'>,
  { name, protocol }: NamedPort,
): readonly PortRange[] {
  const found = byName(ports).get(name) ?? [];
  return protocol === undefined ? found : found.filter(range => range.protocol === protocol);
}

const rangesByName = new WeakMap<Pod['ports'], ReadonlyMap<string, PortRange[]>>();

/** The port ranges of each name, in order. */
function byName(ports: Pod['ports']): ReadonlyMap<string, PortRange[]> {
  const known = rangesByName.get(ports);
  if (known !== undefined) return known;
  const named = new Map<string, PortRange[]>();
  for (const { name, protocol, port } of ports)
    getOrMake(named, name, () => []).push({ kind: 'range', protocol, first: port, last: port });
  for (const ranges of named.values())
    ranges.sort((a, b) => a.first - b.first || (a.protocol < b.protocol ? -1 : 1));
  rangesByName.set(ports, named);
  return named;
}

/** Named ports by `name/PROTOCOL`, or by `name/` if the policy names no protocol. */
type NamedPorts = ReadonlyMap<string, NamedPort>;

function thoseOn(ports: Pod['ports'], named: NamedPorts): Iterable<readonly [string, NamedPort]> {
  if (named.size > 2 * ports.length)
    return ports.flatMap(({ name, protocol }) =>
      [`${name}/${protocol}`, `${name}/`].flatMap(key => {
        const port = named.get(key);
        return port === undefined ? [] : [[key, port] as const];
      }),
    );
  return [...named].filter(([, port]) => resolvedOn({ ports }, port).length > 0);
}

const namedByRules = new WeakMap<readonly Rule[], NamedPorts>();

/** The distinct named ports of the rules, cached because they are needed for every pod that a policy selects. */
function namedPortsOf(rules: readonly Rule[]): NamedPorts {
  const known = namedByRules.get(rules);
  if (known !== undefined) return known;
  const named = new Map<string, NamedPort>();
  for (const { ports } of rules) {
    for (const port of ports === 'any' ? [] : ports)
      if (port.kind === 'named') named.set(`${port.name}/${port.protocol ?? ''}`, port);
  }
  namedByRules.set(rules, named);
  return named;
}
