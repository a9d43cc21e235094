/** Compares a set of connections with flows, one by one. */

import { type ConnectionSets, type Connections, ICMP } from '../../../src/answers/reach/connections.ts';
import type { Reach } from '../../../src/answers/reach/reach.ts';
import type { Toggles } from '../../../src/answers/reach/regions.ts';
import { type Address, familyOf } from '../../../src/model/address.ts';
import type { Flow } from '../../../src/model/flow.ts';

/** The connections between two addresses of one family. */
export function connectionsBetween(
  { families }: Reach,
  from: Address,
  to: Address,
  viaService = false,
): Connections {
  return families[familyOf(from)].between(from, to, viaService);
}

/** Whether a flow's protocol and port are in the set. */
export function includesFlow(connections: ConnectionSets, { protocol, port }: Flow): boolean {
  if (protocol === 'ICMP') return togglesContain(connections.other, ICMP);
  if (typeof protocol === 'number') return togglesContain(connections.other, protocol);
  return port !== undefined && togglesContain(connections[protocol], port);
}

export function togglesContain(toggles: Toggles, value: number): boolean {
  const places = toggles.findIndex(at => at > value);
  return (places === -1 ? toggles.length : places) % 2 === 1;
}
