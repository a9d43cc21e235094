/**
 * What the policies of one subject decide in one direction, for all peers and all connections at once. Peers of whom
 * the rules say the same stay together: a rule splits a group only where it means a part of it.
 *
 *   Admin ──▶ NetworkPolicy ──▶ Baseline ──▶ allow      the first that decides wins, as in semantics/evaluate.ts
 */
import type { Action, PolicyId, Tier } from '../../model/policy.ts';
import type { Bits } from './bits.ts';
import type { ConnectionPool, Connections } from './connections.ts';

/** A rule, for the peers and connections that it means. */
export interface JudgedRule {
  readonly tier: Tier;
  readonly policy: PolicyId;
  readonly rule: string;
  readonly action: Action;
  readonly peers: Bits;
  readonly connections: Connections;
}

/** Of one subject and direction. */
export interface DirectionRules {
  /** In order of precedence within each tier. */
  readonly steps: readonly JudgedRule[];
  /** The NetworkPolicies that isolate the subject in this direction. */
  readonly isolatedBy: readonly PolicyId[];
}

export interface Decision {
  readonly verdict: 'allow' | 'deny';
  readonly tier: Tier | 'default';
  /** One with a rule; those that isolate, and no rule; or none. */
  readonly policies: readonly PolicyId[];
  readonly rule?: string;
}

/** What no policy decides is allowed. */
export const UNDECIDED: Decision = { verdict: 'allow', tier: 'default', policies: [] };

/** The connections of a group that one rule decides, or that no rule does. */
export interface DecidedConnections {
  readonly connections: Connections;
  readonly decision: Decision;
}

export interface JudgedPeers {
  readonly peers: Bits;
  /** Together all connections, and none twice. */
  readonly parts: readonly DecidedConnections[];
}

interface Open extends JudgedPeers {
  /** What nothing has decided yet. */
  readonly open: Connections;
  /** What a Pass has led past the rest of the tier. */
  readonly passed: Connections;
}

export function judgePeers(
  pool: ConnectionPool,
  { steps, isolatedBy }: DirectionRules,
  everybody: Bits,
): readonly JudgedPeers[] {
  const tier = (name: Tier) => steps.filter(step => step.tier === name);
  const start: Open = { peers: everybody, open: pool.all, passed: pool.none, parts: [] };
  const afterAdmin = leaveTier(pool, walk(pool, [start], tier('admin')));
  if (isolatedBy.length === 0) {
    const afterBaseline = leaveTier(pool, walk(pool, afterAdmin, tier('baseline')));
    return afterBaseline.map(group => ending(group, UNDECIDED));
  }
  const denied: Decision = { verdict: 'deny', tier: 'networkpolicy', policies: isolatedBy };
  // C7: Baseline has no say where a NetworkPolicy isolates.
  return walk(pool, afterAdmin, tier('networkpolicy')).map(group => ending(group, denied));
}

function walk(pool: ConnectionPool, groups: readonly Open[], steps: readonly JudgedRule[]): readonly Open[] {
  return steps.reduce((all, step) => all.flatMap(group => decide(pool, group, step)), groups);
}

/** The group, or the two that a step makes of it. */
function decide(pool: ConnectionPool, group: Open, step: JudgedRule): readonly Open[] {
  const hit = pool.and(group.open, step.connections);
  if (hit === pool.none || !group.peers.meets(step.peers)) return [group];
  const inside = decided(pool, { ...group, peers: group.peers.and(step.peers) }, step, hit);
  const outside = group.peers.minus(step.peers);
  return outside.isEmpty() ? [inside] : [inside, { ...group, peers: outside }];
}

function decided(pool: ConnectionPool, group: Open, step: JudgedRule, hit: Connections): Open {
  const open = pool.minus(group.open, hit);
  if (step.action === 'pass') return { ...group, open, passed: pool.or(group.passed, hit) };
  const { tier, policy, rule, action } = step;
  const verdict = action === 'accept' ? 'allow' : 'deny';
  const decision: Decision = { verdict, tier, policies: [policy], rule };
  return { ...group, open, parts: [...group.parts, { connections: hit, decision }] };
}

/** C5: what no rule decided and what was passed goes on alike. */
function leaveTier(pool: ConnectionPool, groups: readonly Open[]): readonly Open[] {
  return groups.map(group => ({ ...group, open: pool.or(group.open, group.passed), passed: pool.none }));
}

function ending({ peers, open, parts }: Open, decision: Decision): JudgedPeers {
  return { peers, parts: [...parts, { connections: open, decision }] };
}

export function allowedOf(pool: ConnectionPool, { parts }: JudgedPeers): Connections {
  const allowed = parts.filter(({ decision }) => decision.verdict === 'allow');
  return allowed.reduce((sum, { connections }) => pool.or(sum, connections), pool.none);
}
