/**
 * Where every denial of a table ends, whichever hook, class or map it comes from:
 *
 *     chain denied {
 *       counter                                                 all of them
 *       ip saddr @denied-silent drop                            who came too often is not handed over for a second
 *       limit rate over 50/second burst 200 packets drop
 *       update @denied-by-source { ip saddr limit rate over 2/second burst 20 packets }
 *           update @denied-silent { ip saddr } drop
 *       counter log prefix "sluice denied " group 4711 snaplen 128 drop
 *     }
 *
 * A source has a limit of its own, and whoever is over it pays one look-up for each further packet: a flood of one
 * address hides nothing that another is denied, and costs the node next to nothing. What switches naming on or off, or
 * sets other limits, is this chain alone. It never lets anything pass, whoever listens.
 */
import type { Family } from '../model/address.ts';
import type { Rate } from '../model/tokenbucket.ts';
import { addressIn, addressType, limitOver, logTo, updateBySource, verdict } from '../nft/match.ts';
import type { Chain, Expr, NftSet, Rule, Ruleset, Verdict } from '../nft/ruleset.ts';

export const DENIED_CHAIN = 'denied';
const BY_SOURCE = 'denied-by-source';
const SILENT = 'denied-silent';

/** The group of nfnetlink_log, and what each packet comes under: for `ulogd` and others too (docs/drops.md). */
export const DENIED_GROUP = 4711;
export const DENIED_PREFIX = 'sluice denied ';

/** Of a packet: IPv6 with some extension headers, and the ports behind them. */
export const DENIED_HEAD_BYTES = 128;

/** What a denial leads to. */
export const DENY: Verdict = { kind: 'goto', chain: DENIED_CHAIN };

export function deny(): Expr {
  return { kind: 'verdict', verdict: DENY };
}

/** Whether what has this verdict is denied. */
export function isDenial(verdict: Verdict | undefined): boolean {
  return verdict?.kind === 'drop' || (verdict?.kind === 'goto' && verdict.chain === DENIED_CHAIN);
}

/** How many denied packets are handed over to be named. */
export interface DenialLimits {
  readonly perSource: Rate;
  readonly inAll: Rate;
}

/** Without limits nothing is handed over. */
export function deniedChain(family: Family, limits?: DenialLimits): Chain {
  const counted: Expr = { kind: 'counter' };
  if (limits === undefined) return { name: DENIED_CHAIN, rules: [{ exprs: [counted, verdict('drop')] }] };
  const log = logTo({ group: DENIED_GROUP, prefix: DENIED_PREFIX, snaplen: DENIED_HEAD_BYTES });
  const rules: Rule[] = [
    { exprs: [counted] },
    { exprs: [...addressIn(family, 'saddr', SILENT), verdict('drop')] },
    { exprs: [limitOver(limits.inAll), verdict('drop')] },
    {
      exprs: [
        ...updateBySource(family, { set: BY_SOURCE, over: limits.perSource }),
        ...updateBySource(family, { set: SILENT }),
        verdict('drop'),
      ],
    },
    { exprs: [counted, log, verdict('drop')] },
  ];
  return { name: DENIED_CHAIN, rules };
}

/** Who sends nothing for as long has its whole burst again. */
const FORGOTTEN_MS = 10_000;
const SILENT_MS = 1_000;
const MOST_SOURCES = 4_096;

/** They stand whether or not something is handed over, so that switching it is a change of the chain alone. */
export function deniedSources(family: Family): readonly NftSet[] {
  return SOURCES[family];
}

const SOURCES: Readonly<Record<Family, readonly NftSet[]>> = { ip: sourcesOf('ip'), ip6: sourcesOf('ip6') };

function sourcesOf(family: Family): NftSet[] {
  const set = (name: string, timeoutMs: number): NftSet => ({
    name,
    key: [addressType(family)],
    verdicts: false,
    interval: false,
    dynamic: { size: MOST_SOURCES, timeoutMs },
    elements: new Map(),
  });
  return [set(BY_SOURCE, FORGOTTEN_MS), set(SILENT, SILENT_MS)];
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
        const chains = new Map(table.chains).set(DENIED_CHAIN, deniedChain(family, limits));
        return [family, { ...table, chains }];
      }),
    ),
  };
}
