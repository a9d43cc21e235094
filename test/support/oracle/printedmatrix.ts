/** Who reaches whom by what `sluice matrix -o json` prints: looked up by names, as a reader does. */
import { type Address, cidrContains, familyOf, parseCidr } from '../../../src/model/address.ts';
import type { Cluster } from '../../../src/model/cluster.ts';
import type { Flow } from '../../../src/model/flow.ts';

export interface PrintedMatrix {
  readonly ends: readonly { readonly members: readonly string[] }[];
  readonly connections: readonly ({ readonly from: number; readonly to: number } & Record<
    'ipv4' | 'ipv6',
    PrintedConnections | null
  >)[];
}

export interface PrintedConnections {
  readonly tcp: readonly (readonly [number, number])[];
  readonly udp: readonly (readonly [number, number])[];
  readonly sctp: readonly (readonly [number, number])[];
  readonly icmp: boolean;
}

/** Whether each flow is in it. */
export function allowedByMatrix(
  { ends, connections }: PrintedMatrix,
  cluster: Cluster,
  flows: readonly Flow[],
): boolean[] {
  const cells = new Map(connections.map(each => [`${each.from} ${each.to}`, each]));
  return flows.map(flow => {
    const key = `${endOf(ends, cluster, flow.from)} ${endOf(ends, cluster, flow.to)}`;
    return includes(cells.get(key)?.[familyWord(flow)] ?? null, flow);
  });
}

export const familyWord = (flow: Flow) => (familyOf(flow.from) === 'ip' ? 'ipv4' : 'ipv6') as 'ipv4' | 'ipv6';

export function includes(connections: PrintedConnections | null, { protocol, port = 0 }: Flow): boolean {
  if (connections === null) return false;
  if (protocol === 'ICMP') return connections.icmp;
  const ranges = connections[String(protocol).toLowerCase() as 'tcp'];
  return ranges.some(([first, last]) => first <= port && port <= last);
}

/** As the commands name an end: `Pod shop/web`, `node1`, and of all networks that have an address the smallest. */
export function namesOf(cluster: Cluster, end: Address): (members: readonly string[]) => number {
  const pod = [...cluster.pods.values()].find(
    ({ addresses, hostNetwork }) => !hostNetwork && addresses.includes(end),
  );
  const node = [...cluster.nodes.values()].find(({ addresses }) => addresses.includes(end));
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
  const ranks = ends.map(({ members }) => rank(members));
  return ranks.indexOf(Math.max(...ranks));
}
