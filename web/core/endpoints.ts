/** A row of the matrix as an end that `sluice explain` takes, and the port that is asked about first. */

import { workloadText } from '../../src/answers/questions/endpoint.ts';
import type { ConnectionPool, Connections } from '../../src/answers/reach/connections.ts';
import { connectionsObject } from '../../src/answers/reach/connectionstext.ts';
import { type EndView, INTERNET_TEXT, type MatrixView } from '../../src/answers/reach/view.ts';
import { parseCidr } from '../../src/model/address.ts';
import type { Cluster } from '../../src/model/cluster.ts';
import type { Inventory } from '../../src/model/inventory.ts';
import type { WorkloadKind } from '../../src/model/workload.ts';
import { topWorkloads, workloadOf } from '../../src/model/workloadof.ts';
import type { Row } from './protocol.ts';

interface Known {
  readonly cluster: Cluster;
  readonly inventory: Inventory;
}

/** `shop/deploy/web`, `shop/web-1`, `node/n1`, `10.0.0.1`, `internet`, `api.example.org`. */
export function endpointText(end: EndView, { kind, member, part }: Row, known: Known): string {
  switch (kind) {
    case 'node':
      return `node/${member}`;
    case 'network':
      return member === INTERNET_TEXT ? member : addressIn(member);
    case 'domain':
      return member.replace(/ (?:in|outside) .*$/, '').replace(/^\*+\./, 'any.');
    default:
      return (part === undefined ? undefined : podOf(end, member, known)) ?? memberText(member);
  }
}

/** `Deployment shop/web` → `shop/deploy/web`. */
function memberText(member: string): string {
  const [, kind = '', namespace = '', name = ''] = /^(\S+) ([^/]*)\/(.*)$/.exec(member) ?? [];
  return kind === 'Pod' ? `${namespace}/${name}` : workloadText(kind as WorkloadKind, namespace, name);
}

/** A pod of the workload that is of this end. */
function podOf({ line }: EndView, member: string, { inventory }: Known): string | undefined {
  for (const each of line.members)
    if (each.kind === 'pod' && workloadOf(inventory, each.pod).id === member) return each.pod.key;
  return undefined;
}

/** An address of the network that is like all others of it; the first one may have a meaning of its own. */
function addressIn(network: string): string {
  const cidr = parseCidr(network);
  const [address = network, length = ''] = network.split('/');
  if (cidr === undefined) return address;
  const isSingle = Number(length) >= (cidr.family === 'ip' ? 31 : 127);
  return isSingle ? address : nextAddress(address);
}

function nextAddress(address: string): string {
  if (address.includes('.')) return address.replace(/\d+$/, last => String(Number(last) + 1));
  return address.endsWith('::')
    ? `${address}1`
    : address.replace(/[\da-f]+$/i, last => (Number.parseInt(last, 16) + 1).toString(16));
}

export interface LikelyPort {
  readonly port: string;
  readonly protocol: string;
}

/** The first port that is allowed, else one that the destination has, else that of the Web. */
export function likelyPort(
  { pool }: Pick<MatrixView, 'pool'>,
  cell: ReturnType<MatrixView['cell']>,
  to: Row,
  known: Known,
): LikelyPort {
  const allowed = cell.ip ?? cell.ip6;
  const some =
    allowed === undefined || allowed === pool.all || allowed === pool.none
      ? undefined
      : firstOf(pool, allowed);
  return some ?? declaredPort(to, known) ?? { port: to.kind === 'workload' ? '80' : '443', protocol: 'TCP' };
}

function firstOf(pool: ConnectionPool, connections: Connections): LikelyPort | undefined {
  const { tcp, udp, sctp, icmp } = connectionsObject(pool, connections);
  for (const [protocol, ports] of [
    ['TCP', tcp],
    ['UDP', udp],
    ['SCTP', sctp],
  ] as const)
    if (ports[0] !== undefined) return { port: String(ports[0][0]), protocol };
  return icmp ? { port: '', protocol: 'ICMP' } : undefined;
}

function declaredPort({ kind, member }: Row, { cluster, inventory }: Known): LikelyPort | undefined {
  if (kind !== 'workload') return undefined;
  const workload = topWorkloads(inventory).find(({ id }) => id === member);
  const declared = workload && (workload.ports[0] ?? workload.unnamedPorts?.[0]);
  if (declared !== undefined) return { port: String(declared.port), protocol: declared.protocol };
  for (const pod of cluster.pods.values()) {
    if (workloadOf(inventory, pod).id !== member) continue;
    const port = pod.ports[0] ?? inventory.unnamedPorts.get(pod.key)?.[0];
    if (port !== undefined) return { port: String(port.port), protocol: port.protocol };
  }
  return undefined;
}
