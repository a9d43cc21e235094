/**
 * What keeps a connection cut that was cut. The kernel takes a TCP packet of no connection that it knows for the
 * first of a new one, whichever end sent it, and so it does with some of SCTP, heartbeats first of all, which both ends
 * send without being asked: what a server sends on a connection that it may not have would make the client's packets its
 * replies. So the end that did not open a connection cannot make one out of the middle:
 *
 *     client ──▶ server    judged by policy, like the first packet that it may be
 *     client ◀── server    dropped, where policy has a say on what the other end sends or receives
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
/** What we have to say to what the node itself sends. */
export const NODE_CHAIN = 'output';

/** The addresses of the local pods that policies affect in a direction: the keys of its map. */
const SETS: Record<Direction, string> = { egress: 'egress-guard', ingress: 'ingress-guard' };

/** The guard's set for what a direction's pod map holds. */
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

/** All but what opens a connection, of the protocols in which that can be told. */
const NOT_OPENING = [notOpeningTcp, notOpeningSctp] as const;

/**
 * New connections pay this much: a look at the flags, and at the protocol once more. It comes behind the question who
 * sends: what is denied here is limited by its source.
 */
export function toGuard(family: Family): NftRule[] {
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

/** What a node's own server sends to a pod that may not have connected to it. Node to pod is open otherwise (N43). */
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

/** The same without the guard: where live connections are to be left alone. */
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

/** One object for each chain, so that what did not change stays the same. */
function unguarded(chain: Chain): Chain {
  return getOrMake(known, chain, () => ({ ...chain, rules: chain.rules.filter(rule => !guards(rule)) }));
}

/** That leads to the guard's chain, or is the node's own. */
function guards({ exprs }: NftRule): boolean {
  return exprs.some(
    expr =>
      (expr.kind === 'verdict' && expr.verdict.kind === 'jump' && expr.verdict.chain === GUARD_CHAIN) ||
      (expr.kind === 'lookup' && isGuard(expr.set)),
  );
}
