/** A matrix for programs. */
import type { Cell } from '../../answers/reach/cells.ts';
import type { ConnectionPool } from '../../answers/reach/connections.ts';
import { type ConnectionsObject, connectionsObject } from '../../answers/reach/connectionstext.ts';
import type { MatrixView } from '../../answers/reach/view.ts';
import { versioned } from '../schema.ts';
import type { Row } from './rows.ts';

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
      ...cellObject(view.pool, cell),
    })),
    notes,
  });
}

function cellObject(pool: ConnectionPool, { ip, ip6 }: Cell) {
  const of = (connections: Cell['ip']): ConnectionsObject | null =>
    connections === undefined ? null : connectionsObject(pool, connections);
  return { ipv4: of(ip), ipv6: of(ip6) };
}
