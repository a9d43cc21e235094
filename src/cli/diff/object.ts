/** A comparison for programs. */
import { connectionsObject } from '../../answers/reach/connectionstext.ts';
import type { DiffView } from '../../answers/reach/diff/diffview.ts';
import { versioned } from '../schema.ts';
import type { Cuts } from './cuts.ts';

export function diffObject(
  { pool, changes, added, removed }: DiffView,
  cuts: Cuts | undefined,
  notes: readonly string[],
): object {
  return versioned('Diff', {
    changes: changes.map(({ kind, from, to, families, connections, before, after }) => ({
      kind,
      from,
      to,
      families: families.map(family => (family === 'ip' ? 'ipv4' : 'ipv6')),
      connections: connectionsObject(pool, connections),
      before,
      after,
    })),
    added,
    removed,
    ...(cuts && { cuts: cuts.cuts, deniedBefore: cuts.deniedBefore }),
    notes,
  });
}
