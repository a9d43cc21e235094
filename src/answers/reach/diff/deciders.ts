/** Which policies decide about connections between two ends, on one side of a comparison. */
import type { Family } from '../../../model/address.ts';
import type { Direction } from '../../../model/policy.ts';
import type { Connections } from '../connections.ts';
import { type DecidedConnections, type Decision, UNDECIDED } from '../judge.ts';
import type { Reach } from '../reach.ts';

export interface Decided {
  readonly connections: Connections;
  readonly verdict: 'allow' | 'deny';
  /**
   * `NetworkPolicy shop/db ingress[0]`, `NetworkPolicy shop/db (no ingress rule)`: those that deny, else those that
   * allow; none where no policy does.
   */
  readonly by: readonly string[];
}

/** The connections, split by who decides about them. */
export function decidersOf(
  { pool, families }: Reach,
  family: Family,
  from: number,
  to: number,
  connections: Connections,
): Decided[] {
  const reach = families[family];
  const egress = partsWithin(reach.group('egress', from, to)?.parts, connections);
  return egress.flatMap(out =>
    partsWithin(reach.group('ingress', to, from)?.parts, out.connections).map(into =>
      decided(into.connections, { egress: out.decision, ingress: into.decision }),
    ),
  );

  function partsWithin(
    parts: readonly DecidedConnections[] | undefined,
    within: Connections,
  ): DecidedConnections[] {
    if (parts === undefined) return [{ connections: within, decision: UNDECIDED }];
    return parts.flatMap(({ connections: own, decision }) => {
      const both = pool.and(own, within);
      return both === pool.none ? [] : [{ connections: both, decision }];
    });
  }
}

function decided(connections: Connections, by: Record<Direction, Decision>): Decided {
  const directions = ['egress', 'ingress'] as const;
  const verdict = directions.some(direction => by[direction].verdict === 'deny') ? 'deny' : 'allow';
  const deciding = directions.filter(direction => by[direction].verdict === verdict);
  return { connections, verdict, by: deciding.flatMap(direction => decisionText(direction, by[direction])) };
}

function decisionText(direction: Direction, { policies, rule }: Decision): string[] {
  const [first, ...others] = policies;
  if (first === undefined) return [];
  if (rule !== undefined) return [`${first} ${rule}`];
  const names = others.length === 0 ? first : policies.map(policy => policy.split(' ')[1]).join(', ');
  return [`${others.length === 0 ? '' : 'NetworkPolicies '}${names} (no ${direction} rule)`];
}
