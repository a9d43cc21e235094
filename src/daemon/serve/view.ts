/** The view of the agent that its servers show: its parts, and what is read of this machine. */

import { KUBE_FIREWALL } from '../../api/health/bypasschecks.ts';
import { enforcingChain } from '../../api/health/hostchecks.ts';
import { nodeView } from '../../api/rpc/nodeview.ts';
import type { AgentView } from '../../api/rpc/view.ts';
import type { Host } from '../../kernel/host/facts.ts';
import { memoryLimits } from '../../kernel/host/memory.ts';
import { ownNetworkNamespace, readHost } from '../../kernel/host/read.ts';
import { openConntrack } from '../../kernel/netlink/conntrack/conntrack.ts';
import { eachChain, eachFlowtable } from '../../kernel/netlink/nftables/all-chains.ts';
import { type AgentCommandOptions, cutsConnections } from '../options.ts';
import type { Pipeline } from '../pipeline.ts';
import { readPodLinks } from '../pods/podroutes.ts';

export async function openAgentView(options: AgentCommandOptions, pipeline: Pipeline): Promise<AgentView> {
  const networkNamespace = await ownNetworkNamespace();
  const node = nodeView(pipeline, {
    identity: { networkNamespace, cutsConnections: cutsConnections(options) },
    readHost: nodeReader(),
    readPodLinks,
    openConntrack,
    memoryLimits,
  });
  return { ...pipeline, ...node };
}

// The facts of this node that health checks need.

/**
 * Cached for long, because other enforcers are rarely installed and listing chains is expensive: iptables may have made
 * ten thousand.
 */
const FRESH_MS = 60_000;

type Foreign = Pick<Host, 'foreignRules' | 'foreignChains' | 'flowtables'>;

/** Reads the node each time, and its chains once a minute. */
export function nodeReader(): () => Promise<Host> {
  let last: { readonly atMs: number; readonly value: Promise<Foreign> } | undefined;
  return async () => {
    const nowMs = performance.now();
    if (last === undefined || nowMs - last.atMs > FRESH_MS) last = { atMs: nowMs, value: readForeign() };
    const [host, foreign] = await Promise.all([readHost(), last.value]);
    return { ...host, ...foreign };
  };
}

async function readForeign(): Promise<Foreign> {
  const [rules, chains, tables] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const ofChains = reading(() =>
    eachChain((table, chain) => {
      const found = enforcingChain(table, chain);
      if (found !== undefined) rules.add(found);
      if (chain === KUBE_FIREWALL) chains.add(chain);
    }),
  );
  const ofFlowtables = reading(() => eachFlowtable((table, name) => tables.add(`${name} of table ${table}`)));
  const unread = await ofChains;
  return {
    foreignRules: unread ?? { value: [...rules].sort() },
    foreignChains: unread ?? { value: [...chains] },
    flowtables: (await ofFlowtables) ?? { value: [...tables].sort() },
  };
}

/** Undefined where all was read. */
async function reading(read: () => Promise<void>): Promise<{ readonly unreadable: string } | undefined> {
  try {
    await read();
    return undefined;
  } catch (error) {
    return { unreadable: `nf_tables: ${(error as Error).message}` };
  }
}
