/** Reads the reach from the output of `sluice matrix -o json`, by names, as a user would. */

import { getOrMake } from '../../../src/lib/collections/getormake.ts';
import { type Address, cidrContains, familyOf, parseCidr } from '../../../src/model/address.ts';
import { addressOwners } from '../../../src/model/addressowners.ts';
import type { Cluster } from '../../../src/model/cluster.ts';
import type { Flow } from '../../../src/model/flow.ts';
import { nodeAt } from './bruteforce.ts';

export interface PrintedMatrix {
  readonly ends: readonly {
    readonly kind: string;
    readonly members: readonly string[];
    /** For a node that is split into several ends, the addresses of each. */
    readonly parts: Readonly<Record<string, string>>;
  }[];
  readonly connections: readonly ({
    readonly from: number;
    readonly to: number;
    readonly undecided?: PrintedCell;
  } & PrintedCell)[];
}

type PrintedCell = Readonly<Record<'ipv4' | 'ipv6', PrintedConnections | null>>;

type Ranges = readonly (readonly [number, number])[];

export interface PrintedConnections {
  readonly tcp: Ranges;
  readonly udp: Ranges;
  readonly sctp: Ranges;
  readonly icmp: boolean;
  /** IP protocols, by their numbers. */
  readonly protocols: Ranges;
}

/** Whether each flow is in it. */
export function allowedByMatrix(
  { ends, connections }: PrintedMatrix,
  cluster: Cluster,
  flows: readonly Flow[],
): boolean[] {
  const cells = new Map(connections.map(each => [`${each.from} ${each.to}`, each]));
  const known = new Map<Address, number>();
  const endAt = (address: Address) => getOrMake(known, address, () => endOf(ends, cluster, address));
  return flows.map(flow => {
    const key = `${endAt(flow.from)} ${endAt(flow.to)}`;
    return includes(cells.get(key)?.[familyWord(flow)] ?? null, flow);
  });
}

export const familyWord = (flow: Flow) => (familyOf(flow.from) === 'ip' ? 'ipv4' : 'ipv6') as 'ipv4' | 'ipv6';

export function includes(connections: PrintedConnections | null, { protocol, port = 0 }: Flow): boolean {
  if (connections === null) return false;
  if (protocol === 'ICMP') return connections.icmp;
  const isNumber = typeof protocol === 'number';
  const ranges = isNumber ? connections.protocols : connections[protocol.toLowerCase() as 'tcp'];
  const number = isNumber ? protocol : port;
  return ranges.some(([first, last]) => first <= number && number <= last);
}

/** As the commands name an end: `Pod shop/web`, `node1`, and of all networks that have an address the smallest. */
export function namesOf(cluster: Cluster, end: Address): (members: readonly string[]) => number {
  const pod = addressOwners(cluster).get(end);
  const node = nodeAt(cluster, end);
  const name = pod?.key ?? (node && `node/${node.name}`) ?? node?.name;
  return members =>
    Math.max(
      -1,
      ...members.map(member => {
        const own = member.slice(member.indexOf(' ') + 1);
        if (name !== undefined) return own === name || own === node?.name ? 1000 : -1;
        const cidr = parseCidr(member);
        if (cidr !== undefined) return cidrContains(cidr, end) ? Number(member.split('/')[1]) : -1;
        return member === 'internet' ? 0 : -1;
      }),
    );
}

/** The index of the end that an address belongs to. */
function endOf(ends: PrintedMatrix['ends'], cluster: Cluster, at: Address): number {
  const rank = namesOf(cluster, at);
  const ranks = ends.map(({ kind, members, parts }) =>
    rank(members.filter(member => kind !== 'node' || (parts[member]?.split(', ').includes(at) ?? true))),
  );
  return ranks.indexOf(Math.max(...ranks));
}
