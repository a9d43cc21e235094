/** The rows that every output format of a matrix shows: its connections with their sources and destinations. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { plural } from '../../lib/text/plural.ts';
import { FAMILIES } from '../../model/address.ts';
import { DIRECTIONS } from '../../model/policy.ts';
import { memberName } from '../../model/workload.ts';
import { entrywayObject } from '../entrances/waytext.ts';
import { versioned } from '../schema.ts';
import type { ConnectionPool } from './connections.ts';
import {
  type ConnectionsObject,
  cellText,
  connectionsObject,
  newPodConnectionsObject,
} from './connectionstext.ts';
import type { Cell } from './places.ts';
import { countsText } from './unknown.ts';
import type { EndView, ExposureView, MatrixView } from './view.ts';

export interface Row {
  readonly from: EndView;
  readonly to: EndView;
  readonly cell: Cell;
}

/** The rows of the matrix, without those that allow nothing and those of ends that were not asked for. */
export function rowsOf(view: MatrixView, isAsked: (end: EndView) => boolean): Row[] {
  return view.ends.flatMap(from =>
    view.ends.flatMap((to): Row[] => {
      if (!isJudged(from, to) || !(isAsked(from) || isAsked(to))) return [];
      const cell = view.cell(from, to);
      return isNone(view, cell) ? [] : [{ from, to, cell }];
    }),
  );
}

/** Pairs that policy decides; a domain name never opens a connection. */
export function isJudged(from: EndView, to: EndView): boolean {
  return from.kind === 'workload' || (to.kind === 'workload' && from.kind !== 'domain');
}

export function exposuresFor(
  { ends, exposures }: MatrixView,
  isAsked: (end: EndView) => boolean,
): ExposureView[] {
  const asked = new Set(ends.filter(isAsked).flatMap(({ members }) => members));
  return exposures.flatMap(exposure => {
    const members = exposure.members.filter(member => asked.has(member));
    return members.length === 0 ? [] : [{ ...exposure, members }];
  });
}

/** Lines of the same workloads and connections are shown as one. */
export function exposureTexts({ pool, exposures }: MatrixView): ExposureText[] {
  const found = new Map<string, ExposureText & { whom: string[] }>();
  for (const { direction, members, whom, cell } of exposures) {
    const connections = cellText(pool, cell);
    const key = JSON.stringify([direction, members, connections]);
    getOrMake(found, key, () => ({ direction, members, whom: [], connections })).whom.push(whom);
  }
  return [...found.values()];
}

interface ExposureText {
  readonly direction: ExposureView['direction'];
  readonly members: readonly string[];
  readonly whom: readonly string[];
  readonly connections: string;
}

function isNone({ pool }: MatrixView, cell: Cell): boolean {
  return cell.undecided === undefined && FAMILIES.every(family => (cell[family] ?? pool.none) === pool.none);
}

/** `shop/web, shop/api (1 of 2 pods)`, as far as `most` members go. */
export function endText(end: EndView, most = 3): string {
  return listed(
    end.members.map(member => memberText(end, member)),
    most,
  );
}

export function listed(names: readonly string[], most: number): string {
  if (names.length <= most) return names.join(', ');
  return `${names.slice(0, most - 1).join(', ')} and ${names.length - most + 1} more`;
}

export function memberText({ kind, parts }: EndView, member: string): string {
  const part = parts.get(member);
  // A Service beside a node is none.
  const prefix = kind === 'workload' || member.startsWith('svc/') ? '' : PREFIXES[kind];
  const name = kind === 'workload' ? memberName(member) : `${prefix}${member}`;
  return part === undefined ? name : `${name} (${part})`;
}

const PREFIXES = { node: 'node/', network: '', domain: 'domain ' } as const;

/**
 * In which directions policies isolate the workloads of an end: `both`, `egress of 2 of 3`, `no`. Workloads that reach the same may
 * differ in it. Empty where the end is no workload.
 */
export function isolationText({ isolation }: MatrixView, { members }: EndView): string {
  const covered = members.flatMap(member => isolation.get(member) ?? []);
  if (covered.length === 0) return '';
  const counts = DIRECTIONS.map(direction => covered.filter(each => each[direction].isolated).length);
  if (counts.every(count => count === covered.length)) return 'both';
  const texts = DIRECTIONS.flatMap((direction, i) => {
    if (counts[i] === 0) return [];
    return [counts[i] === covered.length ? direction : `${direction} of ${counts[i]} of ${covered.length}`];
  });
  return texts.join(', ') || 'no';
}

function isolatedText({ isolation }: MatrixView): string {
  const [ingress, egress] = DIRECTIONS.map(
    direction => [...isolation.values()].filter(each => each[direction].isolated).length,
  );
  const what = plural(isolation.size, 'workload');
  return `${ingress} of ${what} ${ingress === 1 ? 'is' : 'are'} isolated for ingress and ${egress} for egress: policy denies what no rule allows (sluice coverage).`;
}

/** The heading of exposures. */
export function exposureTitle(view: MatrixView): string {
  return view.hidesPods
    ? 'Pods that you may not list, or that are not there yet'
    : 'Pods that are not there yet';
}

/** Notes about the whole matrix, shown below it. */
export function legendOf(view: MatrixView): string {
  const { ends, exposures, counts, isolation, hidesPods } = view;
  const always = `Whatever is not listed is denied (judged ${countsText(counts)}). A pod always reaches itself, and a node its own pods.`;
  const names =
    'A domain means the addresses that DNS answers gave a pod for such a name. It is listed for pods with a rule by it: for others they are addresses of their networks.';
  const which = hidesPods ? 'is not there yet, or that you may not list' : 'is not there yet';
  const coming = `For a pod that ${which}, the narrowest selectors that match it count, and what several of them allow adds up.`;
  const parts = [
    always,
    ...(exposures.length > 0 ? [coming] : []),
    ...(ends.some(({ kind }) => kind === 'domain') ? [names] : []),
    ...(isolation.size > 0 ? [isolatedText(view)] : []),
  ];
  return parts.join(' ');
}

// The rows for programs.

/** `from` and `to` are indexes of `ends`; null where the two have no address of the family in common. */
export function matrixObject(view: MatrixView, rows: readonly Row[], notes: readonly string[]): object {
  const indexes = new Map(view.ends.map((end, i) => [end, i]));
  return versioned('Matrix', {
    ends: view.ends.map(({ kind, members, parts }) => ({ kind, members, parts: Object.fromEntries(parts) })),
    connections: rows.map(({ from, to, cell }) => ({
      from: indexes.get(from)!,
      to: indexes.get(to)!,
      ...cellObject(view.pool, cell),
    })),
    exposures: view.exposures.map(({ cell, ...exposure }) => ({
      ...exposure,
      ...cellObject(view.pool, cell, newPodConnectionsObject),
    })),
    entryways: view.entryways.ways.map(entrywayObject),
    workloads: [...view.isolation.values()],
    counts: view.counts,
    networks: view.networks,
    notes,
  });
}

function cellObject(pool: ConnectionPool, { ip, ip6, undecided }: Cell, objectOf = connectionsObject) {
  const of = (connections: Cell['ip']): ConnectionsObject | null =>
    connections === undefined ? null : objectOf(pool, connections);
  const perhaps = undecided && { undecided: { ipv4: of(undecided.ip), ipv6: of(undecided.ip6) } };
  return { ipv4: of(ip), ipv6: of(ip6), ...perhaps };
}
