/** The board of the demo: who tries what, and what policy says of it. Pure. */

import { type Address, FAMILIES, type Family, familyOf } from '../../src/model/address.ts';
import type { Cluster } from '../../src/model/cluster.ts';
import type { Flow } from '../../src/model/flow.ts';
import { evaluator, type FlowVerdict } from '../../src/semantics/evaluate.ts';
import type { Probe } from '../lab/probe/attempt.ts';
import { address } from '../lab/topology.ts';
import type { KubeService } from './service.ts';

/** Rows are those who ask, columns are what they ask for. */
export interface Board {
  readonly rows: readonly Party[];
  readonly columns: readonly Column[];
  readonly tries: readonly Try[];
}

export interface Party {
  readonly label: string;
  readonly addresses: readonly Address[];
}

export interface Column extends Party {
  /** Three lines, the last one the port. */
  readonly heading: readonly [string, string, string];
  readonly port: number;
  /** Reached through its addresses. */
  readonly service?: KubeService;
}

export const BOARD_PROTOCOLS = ['TCP', 'UDP', 'SCTP', 'ICMP'] as const;
export type BoardProtocol = (typeof BOARD_PROTOCOLS)[number];

/** One flow of one cell. */
export interface Try {
  readonly row: Party;
  readonly column: Column;
  readonly protocol: BoardProtocol;
  readonly family: Family;
  readonly probe: Probe;
  readonly expected: FlowVerdict;
}

export const INTERNET_PARTY: Party = party('the internet', '198.51.100.7', '2001:db8:1::7');
export const METADATA: Party = party('metadata service', '169.254.169.254', 'fd00:ec2::254');

export function boardOf(cluster: Cluster, services: readonly KubeService[]): Board {
  const rows = [...podParties(cluster), ...nodeParties(cluster).slice(0, 1), INTERNET_PARTY];
  const columns = columnsOf(cluster, services);
  const evaluate = evaluator(cluster);
  const tries = rows.flatMap(row =>
    columns.flatMap(column =>
      probesOf(cluster, row, column).map(probe => tryOf(evaluate, row, column, probe)),
    ),
  );
  return { rows, columns, tries };
}

function podParties(cluster: Cluster): Party[] {
  return [...cluster.pods.values()].map(({ key, addresses }) => ({ label: key, addresses }));
}

function nodeParties(cluster: Cluster): Party[] {
  return [...cluster.nodes.values()].map(({ name, addresses }) => ({ label: `${name} itself`, addresses }));
}

function party(label: string, ...addresses: string[]): Party {
  return { label, addresses: addresses.map(address) };
}

function columnsOf(cluster: Cluster, services: readonly KubeService[]): Column[] {
  const pod = (key: `${string}/${string}`, port: number, name = key.split('/')[1]!): Column[] => {
    const { addresses } = cluster.pods.get(key) ?? { addresses: [] };
    return addresses.length === 0 ? [] : [{ label: key, addresses, heading: ['', name, `:${port}`], port }];
  };
  return [
    ...pod('shop/web', 80),
    ...services.flatMap(serviceColumn),
    ...pod('shop/web', 9100),
    ...pod('shop/api', 8080),
    ...pod('shop/db', 5432),
    ...pod('kube-system/coredns', 53, 'dns'),
    ...pod('guest/visitor', 8000, 'guest'),
    { ...METADATA, heading: ['meta', 'data', ':80'], port: 80 },
    { ...INTERNET_PARTY, heading: ['inter', 'net', ':443'], port: 443 },
  ];
}

function serviceColumn(service: KubeService): Column {
  const [, name = ''] = service.key.split('/');
  const { key, backend, targetPort, port } = service;
  return {
    label: `service ${key}`,
    addresses: backend,
    heading: ['svc', name, `:${port}`],
    port: targetPort,
    service,
  };
}

function probesOf(cluster: Cluster, row: Party, column: Column): Probe[] {
  if (column.service !== undefined)
    return isPod(cluster, row) ? serviceProbes(row, column, column.service) : [];
  if (row.label === column.label || (!isPod(cluster, row) && !isPod(cluster, column))) return [];
  return BOARD_PROTOCOLS.flatMap(protocol =>
    families(row, column).map(([from, to]) => ({
      from,
      to,
      protocol,
      ...(protocol === 'ICMP' ? {} : { port: column.port }),
    })),
  );
}

/** Only pods dial cluster IPs here, and a Service has its own protocol. */
function serviceProbes(row: Party, column: Column, { front, protocol, port }: KubeService): Probe[] {
  return families(row, column).flatMap(([from, to]) => {
    const via = front.find(address => familyOf(address) === familyOf(to));
    const flow: Flow = { from, to, protocol, port: column.port, viaService: true };
    return via === undefined ? [] : [{ ...flow, via: { address: via, port } }];
  });
}

function families(row: Party, column: Party): [Address, Address][] {
  return FAMILIES.flatMap(family => {
    const [from, to] = [row, column].map(party =>
      party.addresses.find(address => familyOf(address) === family),
    );
    return from === undefined || to === undefined ? [] : [[from, to] as [Address, Address]];
  });
}

function isPod(cluster: Cluster, { label }: Party): boolean {
  return cluster.pods.has(label as `${string}/${string}`);
}

function tryOf(evaluate: (flow: Flow) => FlowVerdict, row: Party, column: Column, probe: Probe): Try {
  const protocol = probe.protocol as BoardProtocol;
  return { row, column, protocol, family: familyOf(probe.to), probe, expected: evaluate(probe) };
}
