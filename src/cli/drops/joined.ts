/**
 * One line for what belongs together: the two ends of a connection, which the agents of two nodes report, and DNS queries
 * for A and AAAA records, whose lines would be the same.
 *
 *     16:02:11  n1, n2  shop/web -> shop/db:5432/TCP through postgres  allowed egress, ingress
 *     16:02:11  n1      shop/web -> kube-system/coredns:53/UDP  egress: isolated by shop/default-deny (2 times)
 */

import { getOrMake } from '../../lib/collections/getormake.ts';
import pc from '../../terminal/colours.ts';
import { HANG } from '../../terminal/hang.ts';
import { visibleWidth } from '../../terminal/wrap.ts';

/** A report in words. */
export interface Said {
  /** Equal for connections from one address to another and to one port. */
  readonly key: string;
  readonly atMs: number;
  /** Tells connections apart that are otherwise the same. */
  readonly sourcePort: number | undefined;
  readonly node?: string;
  /** `shop/web -> shop/db:5432/TCP`, then shorter ones. */
  readonly connections: readonly string[];
  readonly hasService: boolean;
  /** The directions that the node allowed. */
  readonly allowed: readonly string[];
  /** `ingress: isolated by shop/db`. */
  readonly denied?: string;
  readonly times: number;
}

/** Two attempts of a program to resolve a name, or the reports of two nodes whose clocks differ a little. */
const TOGETHER_MS = 1_000;
/** More than these at a time are printed without waiting for what belongs to them. */
const MOST_HELD = 10_000;

interface Group {
  readonly cameMs: number;
  lastMs: number;
  readonly said: Said[];
}

export class Joined {
  readonly #latest = new Map<string, Group>();
  #groups: Group[] = [];
  #held = 0;

  /** Reports come in order of time, nearly. */
  add(said: Said, nowMs: number): void {
    this.#held++;
    const group = this.#latest.get(said.key);
    if (group !== undefined && Math.abs(said.atMs - group.lastMs) <= TOGETHER_MS) {
      group.said.push(said);
      group.lastMs = Math.max(group.lastMs, said.atMs);
      return;
    }
    const made = { cameMs: nowMs, lastMs: said.atMs, said: [said] };
    this.#groups.push(made);
    this.#latest.set(said.key, made);
  }

  get isEmpty(): boolean {
    return this.#groups.length === 0;
  }

  /** The lines of what came before that time; nothing is added to them any more. */
  due(beforeMs: number): JoinedLine[] {
    const isFull = this.#held > MOST_HELD;
    const due = this.#groups.filter(({ cameMs }) => isFull || cameMs <= beforeMs);
    if (due.length === 0) return [];
    this.#groups = this.#groups.slice(due.length);
    for (const group of due) {
      this.#held -= group.said.length;
      const { key } = group.said[0]!;
      if (this.#latest.get(key) === group) this.#latest.delete(key);
    }
    return due.flatMap(({ said }) => linesOf(said));
  }
}

/** The connections of a line: all that is said of each is the same. */
export interface JoinedLine {
  readonly said: readonly Said[];
  readonly nodes: readonly string[];
  readonly outcome: readonly string[];
  readonly times: number;
}

/** Connections of which the same is said are one line. */
function linesOf(said: readonly Said[]): JoinedLine[] {
  const connections = new Map<number | undefined, Said[]>();
  for (const each of said) getOrMake(connections, each.sourcePort, () => []).push(each);
  const lines = new Map<string, JoinedLine>();
  for (const line of [...connections.values()].map(lineOfOne)) {
    const key = JSON.stringify([line.nodes, line.outcome, shownOf(line.said).connections[0]]);
    const known = lines.get(key);
    if (known === undefined) lines.set(key, line);
    else lines.set(key, { ...known, said: [...known.said, ...line.said], times: known.times + line.times });
  }
  return [...lines.values()];
}

/** The node of the source comes first, as far as it is known. */
function lineOfOne(said: readonly Said[]): JoinedLine {
  const isOfSource = ({ allowed, denied = '' }: Said) =>
    allowed.includes('egress') || denied.startsWith('egress');
  const sorted = [...said].sort((a, b) => Number(isOfSource(b)) - Number(isOfSource(a)));
  const nodes = [...new Set(sorted.flatMap(({ node }) => node ?? []))];
  const timesOn = (node: string | undefined) =>
    said.filter(each => each.node === node).reduce((sum, { times }) => sum + times, 0);
  const allowed = [...new Set(sorted.flatMap(each => each.allowed))];
  return {
    said: sorted,
    nodes,
    outcome: [
      ...(allowed.length > 0 ? [`allowed ${allowed.join(', ')}`] : []),
      ...new Set(sorted.flatMap(({ denied }) => denied ?? [])),
    ],
    times: Math.max(...(nodes.length === 0 ? [undefined] : nodes).map(timesOn)),
  };
}

/** The node of the source knows the Service that was dialled. */
function shownOf(said: readonly Said[]): Said {
  return said.find(({ hasService }) => hasService) ?? said[0]!;
}

/** `columns`: the width of the terminal; without one nothing is shortened. */
export function joinedText({ said, nodes, outcome, times }: JoinedLine, columns?: number): string {
  const atMs = Math.min(...said.map(each => each.atMs));
  const where = nodes.length === 0 ? '' : `${pc.dim(nodes.join(', '))}  `;
  const again = times > 1 ? pc.dim(` (${times} times)`) : '';
  const lines = shownOf(said).connections.map(
    connection => `${clockText(atMs)}  ${where}${connection}  ${HANG}${outcome.join(', ')}${again}`,
  );
  const fits = (line: string) => columns === undefined || visibleWidth(line.replace(HANG, '')) <= columns;
  return lines.find(fits) ?? lines.at(-1)!;
}

/** The time of day in the time zone of the reader. */
function clockText(ms: number): string {
  const date = new Date(ms);
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map(n => String(n).padStart(2, '0'))
    .join(':');
}
