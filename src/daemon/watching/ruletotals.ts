/** Totals of what rules have counted, by policy rule: they only rise, whatever becomes of the rules. Bounded. */

import { namespaceOfLabel, policiesIn } from '../../api/rpc/policyseries.ts';
import { type CountedRule, countedRule, countKey } from '../../compiler/countedrule.ts';
import { getOrMake } from '../../lib/collections/getormake.ts';
import type { RuleCount } from '../../nft/rulecount.ts';

export interface RuleTotal extends CountedRule {
  packets: number;
  /** Some rule that counts for it was there when rules were read last. */
  isInForce: boolean;
}

/** Rules that are gone are forgotten beyond this. */
const MOST = 20_000;

export class RuleTotals {
  /** Of chains that went before they could be read. */
  unreadChains = 0;
  readonly #most: number;
  readonly #totals = new Map<string, RuleTotal>();
  /** By handle, what was counted when it was read last. */
  #last = new Map<string, number>();

  constructor(most = MOST) {
    this.#most = most;
  }

  /** Rules whose counts are remembered: those that have gone are among them until all are read. */
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

  /** All rules as they are now: those that are not among them have gone. */
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

  /** Of the namespaces with most of them, the oldest: whose rules come and go takes no total of another's. */
  #forgetGone(present: ReadonlySet<string>): void {
    const gone = [...this.#totals.keys()].filter(key => !present.has(key));
    const ofNamespaces = [...Map.groupBy(gone, key => namespaceOf(this.#totals.get(key)!)).values()];
    const kept = levelOf(ofNamespaces, this.#totals.size - this.#most);
    for (const keys of ofNamespaces)
      for (const key of keys.slice(0, Math.max(0, keys.length - kept)))
        if (this.#totals.size > this.#most) this.#totals.delete(key);
  }
}

/** Of a rule that several policies share, that of the first. */
function namespaceOf({ source }: CountedRule): string {
  return namespaceOfLabel(policiesIn(source)[0] ?? '');
}

/** As many as each may keep where `excess` of all are to go, and nobody keeps more than who loses some. */
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
export function ruleIdOf({ family, handle }: RuleCount): string {
  return `${family} ${handle}`;
}
