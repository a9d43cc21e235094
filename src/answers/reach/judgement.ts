/** What the policies on one subject allow, for each peer. */
import type { Direction } from '../../model/policy.ts';
import { allowedOf, type JudgedPeers } from './cases.ts';
import type { ConnectionPool } from './connections.ts';
import type { FamilyEnds } from './familyends.ts';

/** What the policies on one subject say, by the index of the peer. */
export interface Judgement {
  /** Ids of the connections that are allowed. */
  readonly allowed: Uint32Array;
  /** Whether they are all connections with all peers. */
  readonly isOpen: boolean;
}

/** As which of its possible addresses the peer is judged, where its address is not known. */
type UnknownAddress =
  /** Allowed is what is allowed at all of them. */
  | 'all'
  /** Allowed is what is allowed at any of them. */
  | 'any'
  /** Those of one region, by its place among the possible ones. */
  | number;

/** By the direction that judges the peer: destinations in `egress`, sources in `ingress`. */
export type UnknownAddresses = Readonly<Record<Direction, UnknownAddress>>;

/** What is allowed, where that is not everything. */
export function limiting(judgement: Judgement | undefined): Uint32Array | undefined {
  return judgement === undefined || judgement.isOpen ? undefined : judgement.allowed;
}

export function judgementOf(
  pool: ConnectionPool,
  groups: readonly JudgedPeers[],
  ends: FamilyEnds,
  of: UnknownAddress,
): Judgement {
  const ids = groups.map(group => allowedOf(pool, group).id);
  const allowed = new Uint32Array(ends.all.length);
  // The last group is of all that no rule is about, which are most.
  allowed.fill(ids.at(-1)!);
  for (const [i, { peers }] of groups.slice(0, -1).entries()) peers.fill(allowed, ids[i]!);
  return { allowed: withUnknown(pool, ends, allowed, of), isOpen: ids.every(id => id === pool.all.id) };
}

/** Fills in what is allowed with pods of which the address is not known. */
function withUnknown(
  pool: ConnectionPool,
  { all, unknown }: FamilyEnds,
  allowed: Uint32Array,
  of: UnknownAddress,
): Uint32Array {
  for (const end of unknown) allowed[end] = idOfUnknown(pool, all[end]!.oneOf!, allowed, of);
  return allowed;
}

function idOfUnknown(
  pool: ConnectionPool,
  oneOf: readonly number[],
  row: Uint32Array,
  of: UnknownAddress,
): number {
  if (typeof of === 'number') return row[oneOf[Math.min(of, oneOf.length - 1)]!]!;
  let id = row[oneOf[0]!]!;
  for (const end of oneOf) {
    const other = row[end]!;
    if (other !== id)
      id = of === 'all' ? pool.andIds(id, other) : pool.or(pool.byId(id), pool.byId(other)).id;
  }
  return id;
}
