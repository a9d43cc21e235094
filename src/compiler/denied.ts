/**
 * Where every denial of a table ends, whichever hook, class or map it comes from:
 *
 *     chain denied {
 *       counter ip saddr @denied-silent drop                    all of them; who came too often is left out for a second
 *       iifkind "veth" goto denied-limited                      pods of this node
 *       limit rate over 25/second burst 100 packets goto denied-over    all others
 *       goto denied-limited
 *     }
 *     chain denied-limited {
 *       limit rate over 50/second burst 200 packets goto denied-over
 *       update @denied-by-source { ip saddr limit rate over 2/second burst 20 packets } goto denied-often
 *       counter log prefix "sluice denied " group 4711 snaplen 128 drop
 *     }
 *     chain denied-often { update @denied-silent { ip saddr } drop; drop }                   its source: left out for a second
 *     chain denied-over  { update @denied-silent { ip saddr timeout 200ms } drop; drop }     all: for a moment
 *     chain denied-link { … }                                   the same by interface, of those whose address says nothing
 *
 * A source has a limit of its own, and whoever is over it pays one look-up for each further packet: a flood of one
 * address hides nothing that another is denied, and costs the node next to nothing. Who sends from an address that is not
 * its own is known by its link: of those a limit for each address would be none. Addresses from outside of the node say
 * what they like: all of them together have half of the limit, and the pods of this node keep the other. What switches
 * naming on or off, or sets other limits, is these chains alone. They never let anything pass, whoever listens.
 */

import type { Rate } from '../lib/fairness/rates.ts';
import type { Family } from '../model/address.ts';
import { addressType, inSet, limitOver, loadLink, loadSource, logTo, update, verdict } from '../nft/match.ts';
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
/** Of a source that may be believed, or has its share. */
export const LIMITED_CHAIN = 'denied-limited';
/** Of those whose source address says nothing of who sent it. */
export const LINK_CHAIN = 'denied-link';

/** The group of nfnetlink_log, and what each packet comes under: for `ulogd` and others too (docs/drops.md). */
export const DENIED_GROUP = 4711;
export const DENIED_PREFIX = 'sluice denied ';
export const LINK_PREFIX = 'sluice denied link ';

/** Of a packet: IPv6 with some extension headers, and the ports behind them. */
export const DENIED_HEAD_BYTES = 128;

/** What a denial leads to. */
export const DENY: NftVerdict = { kind: 'goto', chain: DENIED_CHAIN };

export function deny(): Expr {
  return { kind: 'verdict', verdict: DENY };
}

/** For a packet that comes by a link at which its source address cannot be, or that is not told by its source. */
export function denyLink(): Expr {
  return { kind: 'verdict', verdict: { kind: 'goto', chain: LINK_CHAIN } };
}

/** Whether what has this verdict is denied. */
export function isDenial(verdict: NftVerdict | undefined): boolean {
  return verdict?.kind === 'drop' || (verdict?.kind === 'goto' && isDenialChain(verdict.chain));
}

/** Whether all that comes to the chain is denied. */
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

/** How many denied packets are handed over to be named. */
export interface DenialLimits {
  readonly perSource: Rate;
  readonly inAll: Rate;
}

/** Without limits nothing is handed over. `fromPods` are the matches of the links of this node's pods. */
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

/** Of whoever is outside of the node an address says little: there may be as many as somebody forges. */
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
 * The limit of all first: of sources there may be many, and a limit is cheaper than an element. That a source is over its
 * own has to be said by a rule that ends there: one that broke off where the silent have no more room would hand it over.
 */
function limitedBySource(family: Family, { perSource, inAll }: DenialLimits): NftRule[] {
  const often = update(SOURCES.by, { over: perSource });
  return [
    { exprs: [limitOver(inAll), verdict('goto', OVER_CHAIN)] },
    { exprs: [loadSource(family), often, verdict('goto', OFTEN_CHAIN)] },
    handedOver(DENIED_PREFIX),
  ];
}

/** The limit of each first: links are few, and a flood of one must come to be silent before it has used up that of all. */
function limitedByLink({ perSource, inAll }: DenialLimits): NftRule[] {
  const key = loadLink();
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

/** Of the limit of all, for links, and for all who are outside of the node. */
const LINKS_PART = 5;
const OUTSIDE_PART = 2;

function partOf({ perSecond, burst }: Rate, part: number): Rate {
  return { perSecond: Math.ceil(perSecond / part), burst: Math.ceil(burst / part) };
}

/** As long as the set says, where no time is given. Where there is no room the first of them breaks off. */
function silentFor(family: Family, timeoutMs?: number): NftRule[] {
  const silence = update(SOURCES.silent, timeoutMs === undefined ? {} : { timeoutMs });
  return [{ exprs: [loadSource(family), silence, verdict('drop')] }, { exprs: [verdict('drop')] }];
}

/** Who sends nothing for as long has its whole burst again. */
const FORGOTTEN_MS = 10_000;
const SILENT_MS = 1_000;
/** Shorter than the pause in which TCP sends again: whoever is not flooding has another try. */
const MOMENT_MS = 200;
const MOST_SOURCES = 4_096;
const MOST_LINKS = 1_024;

interface Sets {
  readonly by: string;
  readonly silent: string;
}

const SOURCES: Sets = { by: 'denied-by-source', silent: 'denied-silent' };
const LINKS: Sets = { by: 'denied-by-link', silent: 'denied-silent-links' };

/** They stand whether or not something is handed over, so that switching it is a change of chains alone. */
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

/** The limits of rules that are programmed: nothing but the agent that made them says which they are. */
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

/** The same rules, which hand over what they deny within these limits. */
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
