/**
 * Where every denial of a table ends, whichever hook, class or map it comes from:
 *
 *     chain denied {
 *       counter ip saddr @denied-silent drop                    all of them; who came too often is left out for a second
 *       limit rate over 50/second burst 200 packets goto denied-over
 *       update @denied-by-source { ip saddr limit rate over 2/second burst 20 packets }
 *           update @denied-silent { ip saddr } drop
 *       counter log prefix "sluice denied " group 4711 snaplen 128 drop
 *     }
 *     chain denied-over {                                       beyond the limit of all: left out for a moment
 *       update @denied-silent { ip saddr timeout 200ms } drop
 *       drop
 *     }
 *     chain denied-link { … }                                   the same by interface, of those whose address says nothing
 *
 * A source has a limit of its own, and whoever is over it pays one look-up for each further packet: a flood of one
 * address hides nothing that another is denied, and costs the node next to nothing. Who sends from an address that is not
 * its own is known by its link: of those a limit for each address would be none. What switches naming on or off, or sets
 * other limits, is these chains alone. They never let anything pass, whoever listens.
 */
import type { Family } from '../model/address.ts';
import type { Rate } from '../model/tokenbucket.ts';
import { addressType, inSet, limitOver, loadLink, loadSource, logTo, update, verdict } from '../nft/match.ts';
import type { Chain, Expr, FieldType, NftRule, NftSet, NftVerdict, Ruleset } from '../nft/ruleset.ts';

export const DENIED_CHAIN = 'denied';
const OVER_CHAIN = 'denied-over';
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
  return name === DENIED_CHAIN || name === LINK_CHAIN || name === OVER_CHAIN;
}

/** How many denied packets are handed over to be named. */
export interface DenialLimits {
  readonly perSource: Rate;
  readonly inAll: Rate;
}

/** Without limits nothing is handed over. */
export function deniedChains(family: Family, limits?: DenialLimits): Chain[] {
  const over = { name: OVER_CHAIN, rules: silentForAMoment(family) };
  if (limits === undefined) {
    const rules: NftRule[] = [{ exprs: [COUNTED, verdict('drop')] }];
    return [{ name: DENIED_CHAIN, rules }, over, { name: LINK_CHAIN, rules }];
  }
  return [
    { name: DENIED_CHAIN, rules: limitedBySource(family, limits) },
    over,
    { name: LINK_CHAIN, rules: limitedByLink(limits) },
  ];
}

const COUNTED: Expr = { kind: 'counter' };

/** The limit of all first: of sources there may be as many as somebody forges, and a limit is cheaper than an element. */
function limitedBySource(family: Family, { perSource, inAll }: DenialLimits): NftRule[] {
  const key = loadSource(family);
  return [
    unlessSilent(key, SOURCES),
    { exprs: [limitOver(inAll), verdict('goto', OVER_CHAIN)] },
    unlessOften(key, SOURCES, perSource),
    handedOver(DENIED_PREFIX),
  ];
}

/** The limit of each first: links are few, and a flood of one must come to be silent before it has used up that of all. */
function limitedByLink({ perSource, inAll }: DenialLimits): NftRule[] {
  const key = loadLink();
  return [
    unlessSilent(key, LINKS),
    unlessOften(key, LINKS, perSource),
    { exprs: [limitOver(partOf(inAll)), verdict('drop')] },
    handedOver(LINK_PREFIX),
  ];
}

/** `key` says who sent it. */
function unlessSilent(key: Expr, { silent }: Sets): NftRule {
  return { exprs: [COUNTED, key, inSet(silent), verdict('drop')] };
}

function unlessOften(key: Expr, { by, silent }: Sets, over: Rate): NftRule {
  return { exprs: [key, update(by, { over }), key, update(silent), verdict('drop')] };
}

function handedOver(prefix: string): NftRule {
  const log = logTo({ group: DENIED_GROUP, prefix, snaplen: DENIED_HEAD_BYTES });
  return { exprs: [COUNTED, log, verdict('drop')] };
}

/** Of the limit of all, for links. */
const LINKS_PART = 5;

function partOf({ perSecond, burst }: Rate): Rate {
  return { perSecond: Math.ceil(perSecond / LINKS_PART), burst: Math.ceil(burst / LINKS_PART) };
}

/** Where there is no room the first of them breaks off. */
function silentForAMoment(family: Family): NftRule[] {
  const moment = update(SOURCES.silent, { timeoutMs: MOMENT_MS });
  return [{ exprs: [loadSource(family), moment, verdict('drop')] }, { exprs: [verdict('drop')] }];
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
      ?.chains.get(DENIED_CHAIN)
      ?.rules.flatMap(rule => rule.exprs) ?? [];
  const inAll = exprs.find(expr => expr.kind === 'limit');
  const [perSource] = exprs.flatMap(expr => (expr.kind === 'dynset' ? (expr.over ?? []) : []));
  if (inAll === undefined || perSource === undefined) return undefined;
  return { perSource, inAll: { perSecond: inAll.perSecond, burst: inAll.burst } };
}

/** The same rules, which hand over what they deny within these limits. */
export function withDenialLimits(ruleset: Ruleset, limits: DenialLimits | undefined): Ruleset {
  if (limits === undefined) return ruleset;
  return {
    tables: new Map(
      [...ruleset.tables].map(([family, table]) => {
        if (family === 'bridge' || !table.chains.has(DENIED_CHAIN)) return [family, table];
        const chains = new Map(table.chains);
        for (const chain of deniedChains(family, limits)) chains.set(chain.name, chain);
        return [family, { ...table, chains }];
      }),
    ),
  };
}
