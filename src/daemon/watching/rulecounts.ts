/**
 * The counts of policy rules, as totals that outlive the rules. A chain that is recreated counts from zero, so its
 * counts are read before it is deleted. Packets between that reading and the commit, some tenths of a millisecond, are
 * not counted. If so many chains change at once that some cannot be read, the log says so.
 */

import { namespaceOfLabel, policiesIn } from '../../api/rpc/policyseries.ts';
import { type CountedRule, countedRule, countKey } from '../../compiler/countedrule.ts';
import { isCounted } from '../../compiler/rulecounters.ts';
import { type ChainOf, RuleCountReader } from '../../kernel/netlink/nftables/rulecounts.ts';
import { getOrMake } from '../../lib/collections/getormake.ts';
import type { Op } from '../../nft/plan/op.ts';
import type { RuleCount } from '../../nft/rulecount.ts';

/** A scrape reads all of our rules: some microseconds for each. */
const FRESH_MS = 10_000;
/** Reading one chain takes 0.1 ms, and changes that tighten policy wait for it. */
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
  /** Counts of some chains that were read while all are being read: those of all may be older. */
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
    // Without scrapes, deleted rules would never be forgotten.
    if (this.totals.remembered > MOST_REMEMBERED) void this.read();
  }
}

/** The latest count of each rule: a count never falls. */
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

// Totals of rule counters by policy rule. They only rise, also when rules are made anew, and their number is bounded.

export interface RuleTotal extends CountedRule {
  packets: number;
  /** Whether a rule that counts for it was there when rules were last read. */
  isInForce: boolean;
}

/** Rules that are gone are forgotten beyond this. */
const MOST = 20_000;

export class RuleTotals {
  /** How many chains were deleted before their counters could be read. */
  unreadChains = 0;
  readonly #most: number;
  readonly #totals = new Map<string, RuleTotal>();
  /** The last count that was read of each rule, by handle. */
  #last = new Map<string, number>();

  constructor(most = MOST) {
    this.#most = most;
  }

  /** How many rules' counts are remembered; deleted rules are among them until all rules are read. */
  get remembered(): number {
    return this.#last.size;
  }

  values(): Iterable<Readonly<RuleTotal>> {
    return this.#totals.values();
  }

  /** Some rules as they are now, or were before all were read: a count that is known to be higher is newer. */
  take(counts: readonly RuleCount[]): void {
    for (const count of counts)
      if (count.packets >= (this.#last.get(ruleIdOf(count)) ?? 0)) this.#take(count, this.#last);
  }

  /** Takes the counts of all rules: rules that are not among them are gone. */
  takeAll(counts: readonly RuleCount[]): void {
    const now = new Map<string, number>();
    const present = new Set<string>();
    for (const count of counts) {
      const key = this.#take(count, now);
      if (key !== undefined) present.add(key);
    }
    this.#last = now;
    for (const [key, total] of this.#totals) total.isInForce = present.has(key);
    if (this.#totals.size > this.#most) this.#forgetGone(present);
  }

  /** Answers what it is counted as. */
  #take(count: RuleCount, into: Map<string, number>): string | undefined {
    const rule = countedRule(count);
    if (rule === undefined) return undefined;
    const [key, id] = [countKey(rule), ruleIdOf(count)];
    const before = this.#last.get(id) ?? 0;
    into.set(id, count.packets);
    const total = getOrMake(this.#totals, key, () => ({ ...rule, packets: 0, isInForce: true }));
    total.isInForce = true;
    // A table that was made anew begins its handles anew.
    total.packets += count.packets >= before ? count.packets - before : count.packets;
    return key;
  }

  /** Drops the oldest totals of the namespaces that have most, so that no namespace displaces another's. */
  #forgetGone(present: ReadonlySet<string>): void {
    const gone = [...this.#totals.keys()].filter(key => !present.has(key));
    const ofNamespaces = [...Map.groupBy(gone, key => namespaceOf(this.#totals.get(key)!)).values()];
    const kept = levelOf(ofNamespaces, this.#totals.size - this.#most);
    for (const keys of ofNamespaces)
      for (const key of keys.slice(0, Math.max(0, keys.length - kept)))
        if (this.#totals.size > this.#most) this.#totals.delete(key);
  }
}

/** The namespace of the rule's policy; of the first one where several share the rule. */
function namespaceOf({ source }: CountedRule): string {
  return namespaceOfLabel(policiesIn(source)[0] ?? '');
}

/** How many each list may keep so that `excess` entries go, all of them from the longest lists. */
function levelOf(lists: readonly (readonly unknown[])[], excess: number): number {
  const beyond = (kept: number) => lists.reduce((sum, { length }) => sum + Math.max(0, length - kept), 0);
  let low = 0;
  let high = lists.reduce((most, { length }) => Math.max(most, length), 0);
  while (low < high) {
    const kept = Math.ceil((low + high) / 2);
    if (beyond(kept) >= excess) low = kept;
    else high = kept - 1;
  }
  return low;
}

/** One rule of the kernel. */
function ruleIdOf({ family, handle }: RuleCount): string {
  return `${family} ${handle}`;
}
