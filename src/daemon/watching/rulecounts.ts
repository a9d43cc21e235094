/**
 * What the rules of policy have counted, as totals that outlive the rules: a chain that is made anew counts from zero, so
 * its counts are read before it goes. What comes between that and the commit is lost, some tenths of a millisecond; what
 * of many chains at once could not be read is said.
 */
import { isCounted } from '../../compiler/rulecounters.ts';
import { type ChainOf, RuleCountReader } from '../../kernel/netlink/nftables/rulecounts.ts';
import type { Op } from '../../nft/plan/op.ts';
import type { RuleCount } from '../../nft/rulecount.ts';
import { RuleTotals, ruleIdOf } from './ruletotals.ts';

/** A scrape reads all of our rules: some microseconds for each. */
const FRESH_MS = 10_000;
/** To read one takes 0.1 ms, and whatever tightens waits for it. */
const MOST_CHAINS = 32;
const MOST_REMEMBERED = 50_000;

export interface CountReader {
  all(): Promise<RuleCount[]>;
  of(chains: readonly ChainOf[]): Promise<RuleCount[]>;
  close(): void;
}

export class RuleCounts {
  readonly totals = new RuleTotals();
  readonly #reader: CountReader;
  #readMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;
  /** What was read of some chains while all are being read, in which those may be older. */
  #meanwhile: RuleCount[] = [];

  constructor(reader: CountReader = new RuleCountReader()) {
    this.#reader = reader;
  }

  /** Reads the counts of what a batch takes away, before it does. Never throws: to count fails no commit. */
  async before(ops: readonly Op[]): Promise<void> {
    const going = goingIn(ops);
    if (going.length > 0) await this.#readBefore(going);
  }

  /** Totals as of now, or of some seconds ago. */
  async read(): Promise<RuleTotals> {
    if (performance.now() - this.#readMs > FRESH_MS)
      this.#reading ??= this.#readAll().finally(() => {
        this.#reading = undefined;
      });
    await this.#reading;
    return this.totals;
  }

  close(): void {
    this.#reader.close();
  }

  async #readAll(): Promise<void> {
    this.#readMs = performance.now();
    this.#meanwhile = [];
    const counts = await this.#reader.all().catch(() => undefined);
    if (counts !== undefined) this.totals.takeAll(latest(counts, this.#meanwhile));
  }

  async #readBefore(going: readonly ChainOf[]): Promise<void> {
    const read = going.slice(0, MOST_CHAINS);
    const counts = await this.#reader.of(read).catch(() => undefined);
    this.totals.take(counts ?? []);
    if (this.#reading !== undefined) this.#meanwhile.push(...(counts ?? []));
    this.totals.unreadChains += counts === undefined ? going.length : going.length - read.length;
    // Where nobody scrapes, rules that have gone would be remembered for ever.
    if (this.totals.remembered > MOST_REMEMBERED) void this.read();
  }
}

/** Each rule's as it was read last: a count never falls. */
function latest(counts: readonly RuleCount[], others: readonly RuleCount[]): readonly RuleCount[] {
  if (others.length === 0) return counts;
  const byRule = new Map<string, RuleCount>();
  for (const count of [...counts, ...others]) {
    const rule = ruleIdOf(count);
    if (count.packets >= (byRule.get(rule)?.packets ?? 0)) byRule.set(rule, count);
  }
  return [...byRule.values()];
}

function goingIn(ops: readonly Op[]): ChainOf[] {
  return ops.flatMap(op =>
    op.op === 'flushChain' && op.family !== 'bridge' && isCounted(op.chain)
      ? [{ family: op.family, chain: op.chain }]
      : [],
  );
}
