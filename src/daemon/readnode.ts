/** All that health wants to know of this node. */
import { enforcingChain } from '../health/enforcers.ts';
import type { Host, Reading } from '../health/facts.ts';
import { readHost } from '../host/read.ts';
import { eachChain } from '../netlink/nftables/all-chains.ts';

/** Enforcers are installed once; with iptables a node may have ten thousands of chains. */
const FRESH_MS = 60_000;

/** Reads the node each time, and its chains once a minute. */
export function nodeReader(): () => Promise<Host> {
  let last: { readonly atMs: number; readonly value: Promise<Host['foreignRules']> } | undefined;
  return async () => {
    const nowMs = performance.now();
    if (last === undefined || nowMs - last.atMs > FRESH_MS) last = { atMs: nowMs, value: readForeignRules() };
    const [host, foreignRules] = await Promise.all([readHost(), last.value]);
    return { ...host, foreignRules };
  };
}

async function readForeignRules(): Promise<Reading<readonly string[]>> {
  const found = new Set<string>();
  try {
    await eachChain((table, chain) => {
      const rules = enforcingChain(table, chain);
      if (rules !== undefined) found.add(rules);
    });
    return { value: [...found].sort() };
  } catch (error) {
    return { unreadable: `nf_tables: ${(error as Error).message}` };
  }
}
