/** The matrix in the form that the page shows: numbers for cells, and each text once. */
import { cellText } from '../../src/answers/reach/connectionstext.ts';
import { afterText, beforeText, summary, whatText } from '../../src/answers/reach/diff/difftext.ts';
import { type ChangeView, type DiffView, diffOf } from '../../src/answers/reach/diff/diffview.ts';
import { isJudged, legendOf } from '../../src/answers/reach/rows.ts';
import type { EndView, MatrixView } from '../../src/answers/reach/view.ts';
import type { LoadedCluster } from '../../src/inputs/files/load.ts';
import { FAMILIES } from '../../src/model/address.ts';
import { withEnforced } from '../../src/model/audited.ts';
import type { UnknownPods } from '../../src/model/podcidrs.ts';
import { memberName } from '../../src/model/workload.ts';
import type { CellType, Change, Changes, Model, Row } from './protocol.ts';

/** A row for each member of each end: workloads by namespace and name, then nodes, networks, the internet, names. */
export function rowsShown({ ends }: MatrixView): Row[] {
  const rows = ends.flatMap((end, i) => end.members.map(member => rowOf(end, i, member)));
  return rows.sort(
    (a, b) => KINDS[a.kind] - KINDS[b.kind] || compareTexts(a.group, b.group) || compareNames(a, b),
  );
}

const KINDS = { workload: 0, node: 1, network: 2, domain: 3 } as const;
const GROUPS = { node: 'nodes', network: 'networks', domain: 'names' } as const;

/** Apart from others, as most networks are a part of it that policies name. */
const INTERNET = 'internet';

function compareNames(a: Row, b: Row): number {
  return Number(b.name === INTERNET) - Number(a.name === INTERNET) || compareTexts(a.name, b.name);
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function rowOf({ kind, parts }: EndView, end: number, member: string): Row {
  const part = parts.get(member);
  const rest = { end, kind, member, ...(part !== undefined && { part }) };
  if (kind !== 'workload') return { ...rest, group: GROUPS[kind], name: member };
  const name = memberName(member);
  const slash = name.indexOf('/');
  return { ...rest, group: name.slice(0, slash), name: name.slice(slash + 1) };
}

const APART: CellType = { kind: 'apart', text: 'policy has no say', short: '' };
const NONE: CellType = { kind: 'none', text: 'none', short: '' };

interface Parts {
  readonly view: MatrixView;
  readonly rows: readonly Row[];
  readonly notes: readonly string[];
  readonly audited: readonly Change[];
}

export function modelOf({ view, rows, notes, audited }: Parts): Model {
  const { ends } = view;
  const types: CellType[] = [APART, NONE];
  const known = new Map<string, number>();
  const cells = new Uint32Array(ends.length * ends.length);
  for (const [i, from] of ends.entries())
    for (const [j, to] of ends.entries()) {
      if (!isJudged(from, to)) continue;
      const { ip, ip6, undecided } = view.cell(from, to);
      const key = `${ip?.id} ${ip6?.id} ${undecided?.ip?.id} ${undecided?.ip6?.id}`;
      let type = known.get(key);
      if (type === undefined) {
        const made = cellType(view, {
          ...(ip && { ip }),
          ...(ip6 && { ip6 }),
          ...(undecided && { undecided }),
        });
        type = made.kind === 'none' ? 1 : types.push(made) - 1;
        known.set(key, type);
      }
      cells[i * ends.length + j] = type;
    }
  return {
    rows,
    ends: ends.length,
    cells,
    types,
    glance: glanceOf(rows, (from, to) => OPEN.has(types[cells[from.end * ends.length + to.end]!]!.kind)),
    counts: view.counts,
    notes: [...notes, ...view.notes],
    legend: legendOf(view),
    audited,
  };
}

const OPEN: ReadonlySet<CellType['kind']> = new Set(['some', 'all']);

function glanceOf(rows: readonly Row[], isOpen: (from: Row, to: Row) => boolean): Model['glance'] {
  const workloads = rows.flatMap(({ kind }, i) => (kind === 'workload' ? [i] : []));
  const internet = rows.find(({ kind, name }) => kind === 'network' && name === INTERNET);
  const withInternet = (test: (row: Row, internet: Row) => boolean) =>
    internet === undefined ? [] : workloads.filter(i => test(rows[i]!, internet));
  const others = workloads.length - 1;
  const sources = workloads.map(
    to => workloads.filter(from => from !== to && isOpen(rows[from]!, rows[to]!)).length,
  );
  return {
    pairs: workloads.length * Math.max(0, others),
    openPairs: sources.reduce((sum, count) => sum + count, 0),
    openToInternet: withInternet((row, from) => isOpen(from, row)),
    reachingInternet: withInternet(isOpen),
    openToAll: workloads.filter((_, i) => others > 0 && sources[i] === others),
  };
}

function cellType({ pool }: MatrixView, cell: ReturnType<MatrixView['cell']>): CellType {
  const all = FAMILIES.flatMap(family => cell[family] ?? []);
  const undecided = cell.undecided !== undefined;
  if (all.every(each => each === pool.none) && !undecided) return NONE;
  const text = cellText(pool, cell);
  return {
    kind: all.length > 0 && all.every(each => each === pool.all) ? 'all' : 'some',
    text,
    short: shortText(text),
    ...(new Set(all).size > 1 && { byFamily: true }),
    ...(undecided && { undecided }),
  };
}

/** `80`, `80…` for more than one, `all`, `most` for all but some, as `+` and `−` are of edits; `53u` for UDP alone would say less than it takes. */
function shortText(text: string): string {
  if (text === 'all') return 'all';
  if (text.startsWith('all')) return 'most';
  const numbers = text.match(/\d+(?:-\d+)?/g) ?? [];
  const ports = [
    ...new Set(/^IPv4 .*\| IPv6 /.test(text) ? numbers.filter(each => !/^[46]$/.test(each)) : numbers),
  ];
  const [first = 'some'] = ports;
  const isLong = first.length > 5;
  return `${isLong ? first.replace(/-.*/, '–') : first}${ports.length > 1 ? '…' : ''}`;
}

export function changesShown(view: DiffView): Changes {
  return {
    changes: view.changes.map(change => changeShown(view, change)),
    summary: summary(view),
    notes: view.notes,
  };
}

function changeShown(view: DiffView, change: ChangeView): Change {
  const { kind, undecided, from, to } = change;
  return {
    kind,
    ...(undecided && { undecided }),
    from: from.map(memberOf),
    to: to.map(memberOf),
    what: whatText(view, change),
    before: beforeText(change),
    after: afterText(change),
  };
}

/** Rows have `node1` and `*.example.org`, where a comparison has `node/node1` and `domain *.example.org`. */
function memberOf(name: string): string {
  return name.replace(/^(?:node\/|domain )/, '');
}

/** What would open and close if audited policies were enforced. */
export function auditedChanges(
  { cluster, inventory }: LoadedCluster,
  unknownPods: UnknownPods,
): readonly Change[] {
  if (cluster.audited.size === 0) return [];
  const then = { cluster: withEnforced(cluster), inventory };
  return changesShown(diffOf({ cluster, inventory }, then, unknownPods)).changes;
}
