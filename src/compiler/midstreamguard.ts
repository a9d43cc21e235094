/**
 * Keeps a connection cut after it was cut. The kernel takes a TCP packet without a tracked connection for the first of
 * a new one, whichever end sent it, and likewise some packets of SCTP, such as heartbeats, which both ends send by
 * themselves. So a packet of a server on a connection that policy denies would open a connection in conntrack to which
 * the client's packets are replies. Therefore the end that did not open a connection cannot open it in the middle:
 *
 *     client ──▶ server   judged by policy, like the first packet, which it may be
 *     client ◀── server   dropped if policy affects what the other end sends or receives
 *
 * docs/decisions/0005 says what that means for connections that are allowed.
 */

import { getOrMake } from '../lib/collections/getormake.ts';
import type { Direction } from '../model/policy.ts';
import { addressIn, CT_STATE, ctStateAny, notOpeningSctp, notOpeningTcp, verdict } from '../nft/match.ts';
import {
  type Chain,
  type ElementKey,
  type Elements,
  type ElementValue,
  type Family,
  mapTables,
  type NftRule,
  type NftSet,
  type Ruleset,
  type Table,
} from '../nft/ruleset.ts';
import { deny } from './denied.ts';
import { classChain } from './unknownpods.ts';

const GUARD_CHAIN = 'mid-stream';
/** The chain for packets that the node itself sends. */
export const NODE_CHAIN = 'output';

/** The addresses of the local pods that policies affect in a direction: the keys of its pod map. */
const SETS: Record<Direction, string> = { egress: 'egress-guard', ingress: 'ingress-guard' };

/** The guard's set for a direction, with the keys of its pod map. */
export function guardSet(direction: Direction, { key, elements }: NftSet): NftSet {
  return { name: SETS[direction], key, verdicts: false, interval: false, elements: membersOf(elements) };
}

function membersOf(elements: Elements): Elements {
  const affected = [...elements].filter(([, value]) => classChain(value) !== undefined);
  return new Map(
    affected.map(([key, { comment }]): [ElementKey, ElementValue] => [
      key,
      { ...(comment !== undefined && { comment }) },
    ]),
  );
}

/** Matches packets that do not open a connection, of the protocols in which a packet shows that. */
const NOT_OPENING = [notOpeningTcp, notOpeningSctp] as const;

/**
 * The cost for a new connection is a compare of its flags, and another one of its protocol. The rules come behind the
 * check of the sender, because denied packets are limited by their source.
 */
export function jumpToGuard(family: Family): NftRule[] {
  return NOT_OPENING.map(exprs => ({ exprs: [...exprs(family), verdict('jump', GUARD_CHAIN)] }));
}

export function guardChain(family: Family): Chain {
  const drop = (field: 'saddr' | 'daddr', direction: Direction, comment: string): NftRule => ({
    exprs: [...ctStateAny(CT_STATE.new), ...addressIn(family, field, SETS[direction]), deny()],
    comment,
  });
  return {
    name: GUARD_CHAIN,
    rules: [
      drop('saddr', 'ingress', 'from a pod whose ingress has policies, and of no known connection'),
      drop('daddr', 'egress', 'to a pod whose egress has policies, and of no known connection'),
    ],
  };
}

/**
 * For a packet of the node's own server to a pod that may not have connected to it. Otherwise the node may always reach
 * its pods (N43).
 */
export function guardOfNode(family: Family): NftRule[] {
  return NOT_OPENING.map(exprs => ({
    exprs: [
      ...ctStateAny(CT_STATE.new),
      ...exprs(family),
      ...addressIn(family, 'daddr', SETS.egress),
      deny(),
    ],
    comment: 'to a pod whose egress has policies, and of no known connection',
  }));
}

function isGuard(set: string): boolean {
  return set === SETS.egress || set === SETS.ingress;
}

/** The same rules without the guard, for agents that leave open connections alone. */
export function withoutGuard(ruleset: Ruleset): Ruleset {
  return mapTables(ruleset, withoutMidStreamGuard);
}

function withoutMidStreamGuard({ chains, sets }: Table): Table {
  const others = [...chains.values()].filter(({ name }) => name !== GUARD_CHAIN);
  return {
    chains: new Map(others.map(chain => [chain.name, chain.rules.some(guards) ? unguarded(chain) : chain])),
    sets: new Map([...sets].filter(([name]) => !isGuard(name))),
  };
}

const known = new WeakMap<Chain, Chain>();

/** Cached for each chain, so that unchanged chains stay the same objects. */
function unguarded(chain: Chain): Chain {
  return getOrMake(known, chain, () => ({ ...chain, rules: chain.rules.filter(rule => !guards(rule)) }));
}

/** Whether the rule leads to the guard's chain, or is the rule for packets of the node. */
function guards({ exprs }: NftRule): boolean {
  return exprs.some(
    expr =>
      (expr.kind === 'verdict' && expr.verdict.kind === 'jump' && expr.verdict.chain === GUARD_CHAIN) ||
      (expr.kind === 'lookup' && isGuard(expr.set)),
  );
}
