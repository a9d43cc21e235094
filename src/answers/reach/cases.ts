/** The rules that each subject has to pass, as steps over the ends of one family. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { assertNever } from '../../lib/text/assert.ts';
import type { ContainerPort } from '../../model/cluster.ts';
import { patternsOfPolicy } from '../../model/domainpeers.ts';
import {
  type Action,
  type Direction,
  type Policy,
  type PolicyId,
  type PortMatch,
  PROTOCOLS,
  type Rule,
  type Tier,
} from '../../model/policy.ts';
import { mergePorts, type NumberedPort, namedPortMatches } from '../../model/ports.ts';
import { Bits } from './bits.ts';
import type { ClusterIndex } from './clusterindex.ts';
import type { ConnectionPool, Connections } from './connections.ts';
import { type FamilyEnds, PeerSets } from './familyends.ts';
import { togglesOf } from './regions.ts';
import type { Selected } from './templates.ts';

export class Cases {
  readonly #pool: ConnectionPool;
  readonly #clusterIndex: ClusterIndex;
  readonly #ends: FamilyEnds;
  readonly #peers: PeerSets;
  /** Those of policies that are gone are not kept. */
  readonly #steps = new WeakMap<Policy, Map<string, readonly JudgedRule[]>>();
  /** The ends that declare the same named ports, by the text of these ports. */
  readonly #byPorts: ReadonlyMap<string, Bits>;

  constructor(pool: ConnectionPool, clusterIndex: ClusterIndex, ends: FamilyEnds) {
    this.#pool = pool;
    this.#clusterIndex = clusterIndex;
    this.#ends = ends;
    this.#peers = new PeerSets(clusterIndex, ends);
    this.#byPorts = this.#endsByPorts();
  }

  /** `resolved` are the patterns that match the name by which DNS gave the subject the address of its peer. */
  of(
    policies: readonly Policy[],
    direction: Direction,
    subjectPorts: string,
    resolved: ReadonlySet<string> = NONE_RESOLVED,
  ): DirectionRules {
    const affecting = policies.filter(policy => policy[direction] !== undefined);
    return {
      steps: affecting.flatMap(policy => this.#stepsOf(policy, direction, subjectPorts, resolved)),
      isolatedBy: affecting.filter(({ tier }) => tier === 'networkpolicy').map(({ id }) => id),
    };
  }

  #stepsOf(
    policy: Policy,
    direction: Direction,
    subjectPorts: string,
    resolved: ReadonlySet<string>,
  ): readonly JudgedRule[] {
    const known = getOrMake(this.#steps, policy, () => new Map<string, readonly JudgedRule[]>());
    const rules = policy[direction]!;
    // Names of an ingress rule mean the subject's ports, those of an egress rule each peer's.
    const ports = direction === 'ingress' && rules.some(rule => hasNames(rule.ports)) ? subjectPorts : '[]';
    const meant =
      direction === 'egress' ? patternsOfPolicy(policy).filter(pattern => resolved.has(pattern)) : [];
    return getOrMake(known, `${direction}${ports}${meant}`, () =>
      rules.flatMap(rule =>
        direction === 'egress' && hasNames(rule.ports)
          ? [...this.#byPorts].flatMap(([text, ends]) => this.#ruleSteps(policy, rule, text, resolved, ends))
          : this.#ruleSteps(policy, rule, ports, resolved),
      ),
    );
  }

  /** `named` are the peers whose port names have the meaning that `ports` gives them. */
  #ruleSteps(
    policy: Policy,
    rule: Rule,
    ports: string,
    resolved: ReadonlySet<string>,
    named?: Bits,
  ): JudgedRule[] {
    const { tier, id } = policy;
    const connections = portsConnections(this.#pool, rule.ports, JSON.parse(ports));
    const { yes, indeterminate } = within(this.#peers.of(rule, resolved), named);
    const step = { tier, policy: id, rule: rule.path, connections };
    const sure = { ...step, action: rule.action, peers: yes };
    // N68: a peer that the rule may or may not select is denied by it, and never allowed.
    const undecided = { ...step, action: 'deny' as const, peers: indeterminate };
    const both = rule.action === 'accept' ? [sure] : [sure, undecided];
    return connections === this.#pool.none ? [] : both.filter(({ peers }) => !peers.isEmpty());
  }

  #endsByPorts(): Map<string, Bits> {
    const { all } = this.#ends;
    const found = new Map<string, Bits>();
    for (const [i, { template }] of all.entries()) {
      const text = template === undefined ? '[]' : this.#clusterIndex.templates.all[template]!.portsText;
      getOrMake(found, text, () => new Bits(all.length)).add(i);
    }
    return found;
  }
}

const NONE_RESOLVED: ReadonlySet<string> = new Set();

function within({ yes, indeterminate }: Selected, peers: Bits | undefined): Selected {
  return peers === undefined
    ? { yes, indeterminate }
    : { yes: yes.and(peers), indeterminate: indeterminate.and(peers) };
}

// The connections that the ports of a rule mean.

/** `destination` has the container ports that names mean (N29, N30). */
function portsConnections(
  pool: ConnectionPool,
  ports: 'any' | readonly PortMatch[],
  destination: readonly ContainerPort[],
): Connections {
  if (ports === 'any') return pool.all;
  const ofPorts = () => numberedConnections(pool, ports, destination);
  return hasNames(ports) ? ofPorts() : getOrMake(pool.ofPorts, ports, ofPorts);
}

function numberedConnections(
  pool: ConnectionPool,
  ports: readonly PortMatch[],
  destination: readonly ContainerPort[],
): Connections {
  const { protocols, ranges } = mergePorts(ports.flatMap(port => numbered(port, destination)));
  const whole = protocols.map(protocol => pool.ports(protocol));
  const some = PROTOCOLS.map(protocol => {
    const own = ranges.filter(range => range.protocol === protocol);
    return pool.ports(protocol, togglesOf(own, 1));
  });
  return [...whole, ...some].reduce((sum, each) => pool.or(sum, each), pool.none);
}

function hasNames(ports: 'any' | readonly PortMatch[]): boolean {
  return ports !== 'any' && ports.some(({ kind }) => kind === 'named');
}

function numbered(port: PortMatch, destination: readonly ContainerPort[]): readonly NumberedPort[] {
  switch (port.kind) {
    case 'protocol':
    case 'range':
      return [port];
    case 'named':
      return destination.filter(declared => namedPortMatches(port, declared)).map(rangeOf);
    default:
      return assertNever(port);
  }
}

function rangeOf({ protocol, port }: ContainerPort): NumberedPort {
  return { kind: 'range', protocol, first: port, last: port };
}

// The decisions of the policies of one subject in one direction, for all peers and all connections at once. Peers with
// the same decisions stay in one group: a rule splits a group only if it selects a part of it.
//
//     Admin ──▶ NetworkPolicy ──▶ Baseline ──▶ allow      the first that decides wins, as in semantics/evaluate.ts

/** A rule, for the peers and connections that it means. */
interface JudgedRule {
  readonly tier: Tier;
  readonly policy: PolicyId;
  readonly rule: string;
  readonly action: Action;
  readonly peers: Bits;
  readonly connections: Connections;
}

/** The rules for one subject in one direction. */
interface DirectionRules {
  /** The rules, in order of precedence within each tier. */
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

/** The decision for a connection that no policy decides: allowed. */
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
  /** Connections that no rule has decided yet. */
  readonly open: Connections;
  /** Connections for which a Pass skips the rest of the tier. */
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
  // C7: Baseline does not apply where a NetworkPolicy isolates.
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

/** C5: undecided and passed connections both continue to the next tier. */
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

/** Each connection in the first of these that has it. */
export function onceEach(pool: ConnectionPool, parts: readonly DecidedConnections[]): DecidedConnections[] {
  let rest = pool.all;
  return parts.flatMap(({ connections, decision }) => {
    const own = pool.and(connections, rest);
    rest = pool.minus(rest, own);
    return own === pool.none ? [] : [{ connections: own, decision }];
  });
}
