/**
 * Where every denial of a table ends, whichever hook, class or map it comes from:
 *
 *     chain denied {
 *       counter ip saddr @denied-silent drop               all denied packets; a silenced source is not reported
 *       iifkind "veth" goto denied-limited                 pods of this node
 *       limit rate over 25/second burst 100 packets goto denied-over      all others
 *       goto denied-limited
 *     }
 *     chain denied-limited {
 *       limit rate over 50/second burst 200 packets goto denied-over
 *       update @denied-by-source { ip saddr limit rate over 2/second burst 20 packets } goto denied-often
 *       counter log prefix "sluice denied " group 4711 snaplen 128 drop
 *     }
 *     chain denied-often { update @denied-silent { ip saddr } drop; drop }         silences the source for a second
 *     chain denied-over { update @denied-silent { ip saddr timeout 200ms } drop; drop }    for a moment
 *     chain denied-link { … }                       the same by interface, for source addresses that may be forged
 *
 * Each source has a limit of its own, and each further packet of a source over its limit costs one look-up: a flood
 * from one address does not keep denials of other addresses from being reported, and costs the node little. A sender
 * that forges its address is known by its link, because a limit for each address would not limit it. Senders outside
 * the node can forge any address: together they get half of the limit, and the pods of this node keep the other half.
 *
 * Switching the reports on or off, or changing the limits, changes these chains alone. No packet passes them, whether
 * or not a program reads the reports.
 */

import type { Rate } from '../lib/fairness/rates.ts';
import type { Family } from '../model/address.ts';
import {
  addressType,
  inSet,
  limitOver,
  loadInputInterface,
  loadSource,
  logTo,
  update,
  verdict,
} from '../nft/match.ts';
import {
  type Chain,
  type Expr,
  type FieldType,
  mapTables,
  type NftRule,
  type NftSet,
  type NftVerdict,
  type Ruleset,
} from '../nft/ruleset.ts';
import { nodeLinksIn, podLinkMatches } from './linkmatches.ts';

export const DENIED_CHAIN = 'denied';
const OVER_CHAIN = 'denied-over';
const OFTEN_CHAIN = 'denied-often';
/** Where denied packets are reported whose source address is trusted, or whose group has a limit of its own. */
export const LIMITED_CHAIN = 'denied-limited';
/** Where denied packets are reported whose source address may be forged: they are limited by interface. */
export const LINK_CHAIN = 'denied-link';

/**
 * The nfnetlink_log group and the log prefix of denied packets, which `ulogd` and others can read too (docs/drops.md).
 */
export const DENIED_GROUP = 4711;
export const DENIED_PREFIX = 'sluice denied ';
export const LINK_PREFIX = 'sluice denied link ';

/** How many bytes of a packet are copied: enough for IPv6 with some extension headers and the ports behind them. */
export const DENIED_HEAD_BYTES = 128;

/** The verdict of every rule that denies. */
export const DENY: NftVerdict = { kind: 'goto', chain: DENIED_CHAIN };

export function deny(): Expr {
  return { kind: 'verdict', verdict: DENY };
}

/** Denies a packet whose source address does not fit its link, or says nothing about the sender. */
export function denyLink(): Expr {
  return { kind: 'verdict', verdict: { kind: 'goto', chain: LINK_CHAIN } };
}

/** Whether a packet with this verdict is denied. */
export function isDenial(verdict: NftVerdict | undefined): boolean {
  return verdict?.kind === 'drop' || (verdict?.kind === 'goto' && isDenialChain(verdict.chain));
}

/** Whether every packet that reaches the chain is denied. */
export function isDenialChain(name: string): boolean {
  return CHAINS.has(name);
}

const CHAINS: ReadonlySet<string> = new Set([
  DENIED_CHAIN,
  LIMITED_CHAIN,
  OFTEN_CHAIN,
  OVER_CHAIN,
  LINK_CHAIN,
]);

/** The rates at which denied packets are reported. */
export interface DenialLimits {
  readonly perSource: Rate;
  readonly inAll: Rate;
}

/**
 * The chains that deny. Without limits they report nothing. `fromPods` are the matches of the links of this node's
 * pods.
 */
export function deniedChains(
  family: Family,
  limits?: DenialLimits,
  fromPods: readonly (readonly Expr[])[] = [],
): Chain[] {
  const silent = [
    { name: OFTEN_CHAIN, rules: silentFor(family) },
    { name: OVER_CHAIN, rules: silentFor(family, MOMENT_MS) },
  ];
  if (limits === undefined) {
    const rules: NftRule[] = [{ exprs: [COUNTED, verdict('drop')] }];
    return [DENIED_CHAIN, LIMITED_CHAIN, LINK_CHAIN].map((name): Chain => ({ name, rules })).concat(silent);
  }
  return [
    { name: DENIED_CHAIN, rules: shared(family, limits, fromPods) },
    { name: LIMITED_CHAIN, rules: limitedBySource(family, limits) },
    ...silent,
    { name: LINK_CHAIN, rules: limitedByLink(limits) },
  ];
}

const COUNTED: Expr = { kind: 'counter' };

/** Packets from outside the node share one limit, because a sender can forge as many source addresses as it likes. */
function shared(family: Family, { inAll }: DenialLimits, fromPods: readonly (readonly Expr[])[]): NftRule[] {
  const onwards = verdict('goto', LIMITED_CHAIN);
  return [
    { exprs: [COUNTED, loadSource(family), inSet(SOURCES.silent), verdict('drop')] },
    ...fromPods.map(link => ({ exprs: [...link, onwards] })),
    { exprs: [limitOver(partOf(inAll, OUTSIDE_PART)), verdict('goto', OVER_CHAIN)] },
    { exprs: [onwards] },
  ];
}

/**
 * The limit of all comes first: there may be many sources, and a limit is cheaper than an element. The rule that finds
 * a source over its own limit must end in a verdict: if it broke off because `denied-silent` is full, the packet would
 * be reported.
 */
function limitedBySource(family: Family, { perSource, inAll }: DenialLimits): NftRule[] {
  const often = update(SOURCES.by, { over: perSource });
  return [
    { exprs: [limitOver(inAll), verdict('goto', OVER_CHAIN)] },
    { exprs: [loadSource(family), often, verdict('goto', OFTEN_CHAIN)] },
    handedOver(DENIED_PREFIX),
  ];
}

/**
 * The limit of each link comes first: links are few, and a flood on one must be silenced before it uses up the limit of
 * all.
 */
function limitedByLink({ perSource, inAll }: DenialLimits): NftRule[] {
  const key = loadInputInterface();
  const often = [key, update(LINKS.by, { over: perSource }), key, update(LINKS.silent)];
  return [
    { exprs: [COUNTED, key, inSet(LINKS.silent), verdict('drop')] },
    { exprs: [...often, verdict('drop')] },
    { exprs: [limitOver(partOf(inAll, LINKS_PART)), verdict('drop')] },
    handedOver(LINK_PREFIX),
  ];
}

function handedOver(prefix: string): NftRule {
  const log = logTo({ group: DENIED_GROUP, prefix, snaplen: DENIED_HEAD_BYTES });
  return { exprs: [COUNTED, log, verdict('drop')] };
}

/** Divisors of the limit of all: links get a fifth of it, and senders outside the node get half. */
const LINKS_PART = 5;
const OUTSIDE_PART = 2;

function partOf({ perSecond, burst }: Rate, part: number): Rate {
  return { perSecond: Math.ceil(perSecond / part), burst: Math.ceil(burst / part) };
}

/**
 * Silences a source: for `timeoutMs`, or for the timeout of the set. If the set is full, the first rule breaks off and
 * the second one drops.
 */
function silentFor(family: Family, timeoutMs?: number): NftRule[] {
  const silence = update(SOURCES.silent, timeoutMs === undefined ? {} : { timeoutMs });
  return [{ exprs: [loadSource(family), silence, verdict('drop')] }, { exprs: [verdict('drop')] }];
}

/** After so long without a packet a source has its whole burst again. */
const FORGOTTEN_MS = 10_000;
const SILENT_MS = 1_000;
/**
 * Shorter than TCP's first retransmission time-out, so that a sender that does not flood is reported on its next try.
 */
const MOMENT_MS = 200;
const MOST_SOURCES = 4_096;
const MOST_LINKS = 1_024;

interface Sets {
  readonly by: string;
  readonly silent: string;
}

const SOURCES: Sets = { by: 'denied-by-source', silent: 'denied-silent' };
const LINKS: Sets = { by: 'denied-by-link', silent: 'denied-silent-links' };

/** These sets exist whether or not packets are reported, so that switching the reports changes chains alone. */
export function deniedSets(family: Family): readonly NftSet[] {
  return SETS[family];
}

const SETS: Readonly<Record<Family, readonly NftSet[]>> = { ip: setsOf('ip'), ip6: setsOf('ip6') };

function setsOf(family: Family): NftSet[] {
  const set = (name: string, type: FieldType, size: number, timeoutMs: number): NftSet => ({
    name,
    key: [type],
    verdicts: false,
    interval: false,
    dynamic: { size, timeoutMs },
    elements: new Map(),
  });
  const address = addressType(family);
  return [
    set(SOURCES.by, address, MOST_SOURCES, FORGOTTEN_MS),
    set(SOURCES.silent, address, MOST_SOURCES, SILENT_MS),
    set(LINKS.by, 'iface_index', MOST_LINKS, FORGOTTEN_MS),
    set(LINKS.silent, 'iface_index', MOST_LINKS, SILENT_MS),
  ];
}

/** The limits in rules that were read back: only the agent that made the rules knows them otherwise. */
export function denialLimitsIn({ tables }: Ruleset): DenialLimits | undefined {
  const exprs =
    tables
      .get('ip')
      ?.chains.get(LIMITED_CHAIN)
      ?.rules.flatMap(rule => rule.exprs) ?? [];
  const inAll = exprs.find(expr => expr.kind === 'limit');
  const [perSource] = exprs.flatMap(expr => (expr.kind === 'dynset' ? (expr.over ?? []) : []));
  if (inAll === undefined || perSource === undefined) return undefined;
  return { perSource, inAll: { perSecond: inAll.perSecond, burst: inAll.burst } };
}

/** The given rules, with their reports of denied packets limited by these limits. */
export function withDenialLimits(ruleset: Ruleset, limits: DenialLimits | undefined): Ruleset {
  if (limits === undefined) return ruleset;
  const fromPods = podLinkMatches(nodeLinksIn(ruleset));
  return mapTables(ruleset, (table, family) => {
    if (family === 'bridge' || !table.chains.has(DENIED_CHAIN)) return table;
    const chains = new Map(table.chains);
    for (const chain of deniedChains(family, limits, fromPods)) chains.set(chain.name, chain);
    return { ...table, chains };
  });
}
