/** The rules that each subject has to pass, as steps over the ends of one family. */

import { getOrMake } from '../../lib/collections/getormake.ts';
import { patternsOfPolicy } from '../../model/domainpeers.ts';
import { whereUnsure } from '../../model/failclosed.ts';
import type { Direction, Policy, Rule } from '../../model/policy.ts';
import { Bits } from './bits.ts';
import type { ConnectionPool } from './connections.ts';
import type { FamilyEnds } from './familyends.ts';
import type { DirectionRules, JudgedRule } from './judge.ts';
import type { Landscape } from './landscape.ts';
import type { PeerSets } from './peersets.ts';
import { hasNames, portsConnections } from './ports.ts';
import type { Selected } from './selected.ts';

/** The policies on each template, in order of precedence; what is left of those that may not select it (N68). */
export function policiesByTemplate({ policies, selected, templates }: Landscape): readonly Policy[][] {
  const found: Policy[][] = templates.all.map(() => []);
  for (const policy of policies) {
    const { yes, maybe } = selected.of(policy.subject);
    for (const template of yes) found[template]!.push(policy);
    for (const template of maybe) found[template]!.push(whereUnsure(policy));
  }
  return found;
}

export class Cases {
  readonly #pool: ConnectionPool;
  readonly #landscape: Landscape;
  readonly #ends: FamilyEnds;
  readonly #peers: PeerSets;
  readonly #steps = new Map<Policy, Map<string, readonly JudgedRule[]>>();
  /** The ends that declare the same ports, by the text of these. */
  readonly #byPorts: ReadonlyMap<string, Bits>;

  constructor(pool: ConnectionPool, landscape: Landscape, ends: FamilyEnds, peers: PeerSets) {
    this.#pool = pool;
    this.#landscape = landscape;
    this.#ends = ends;
    this.#peers = peers;
    this.#byPorts = this.#endsByPorts();
  }

  /** `told` are the patterns that mean the name under which the subject was told its peer. */
  of(
    policies: readonly Policy[],
    direction: Direction,
    subjectPorts: string,
    told: ReadonlySet<string> = UNTOLD,
  ): DirectionRules {
    const affecting = policies.filter(policy => policy[direction] !== undefined);
    return {
      steps: affecting.flatMap(policy => this.#stepsOf(policy, direction, subjectPorts, told)),
      isolatedBy: affecting.filter(({ tier }) => tier === 'networkpolicy').map(({ id }) => id),
    };
  }

  #stepsOf(
    policy: Policy,
    direction: Direction,
    subjectPorts: string,
    told: ReadonlySet<string>,
  ): readonly JudgedRule[] {
    const known = getOrMake(this.#steps, policy, () => new Map<string, readonly JudgedRule[]>());
    const rules = policy[direction]!;
    // Names of an ingress rule mean the subject's ports, those of an egress rule each peer's.
    const ports = direction === 'ingress' && rules.some(rule => hasNames(rule.ports)) ? subjectPorts : '[]';
    const meant = direction === 'egress' ? patternsOfPolicy(policy).filter(pattern => told.has(pattern)) : [];
    return getOrMake(known, `${direction}${ports}${meant}`, () =>
      rules.flatMap(rule =>
        direction === 'egress' && hasNames(rule.ports)
          ? [...this.#byPorts].flatMap(([text, ends]) => this.#ruleSteps(policy, rule, text, told, ends))
          : this.#ruleSteps(policy, rule, ports, told),
      ),
    );
  }

  /** `among` are the peers whose names have the meaning that `ports` gives them. */
  #ruleSteps(
    policy: Policy,
    rule: Rule,
    ports: string,
    told: ReadonlySet<string>,
    among?: Bits,
  ): JudgedRule[] {
    const { tier, id } = policy;
    const connections = portsConnections(this.#pool, rule.ports, JSON.parse(ports));
    const { yes, maybe } = within(this.#peers.of(rule.peers, told), among);
    const step = { tier, policy: id, rule: rule.path, connections };
    const sure = { ...step, action: rule.action, peers: yes };
    // N68: whoever may be meant is denied, and never allowed.
    const unsure = { ...step, action: 'deny' as const, peers: maybe };
    const both = rule.action === 'accept' ? [sure] : [sure, unsure];
    return connections === this.#pool.none ? [] : both.filter(({ peers }) => !peers.isEmpty());
  }

  #endsByPorts(): Map<string, Bits> {
    const { all } = this.#ends;
    const found = new Map<string, Bits>();
    for (const [i, { template }] of all.entries()) {
      const text = template === undefined ? '[]' : this.#landscape.templates.all[template]!.portsText;
      getOrMake(found, text, () => new Bits(all.length)).add(i);
    }
    return found;
  }
}

const UNTOLD: ReadonlySet<string> = new Set();

function within({ yes, maybe }: Selected, among: Bits | undefined): Selected {
  return among === undefined ? { yes, maybe } : { yes: yes.and(among), maybe: maybe.and(among) };
}
