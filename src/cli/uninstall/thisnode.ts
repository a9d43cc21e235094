/**
 * Removes everything that Sluice made on this node: tables, interfaces of attached pods, routes, files of the CNI
 * plugin.
 */

import { isLayout } from '../../compiler/layout.ts';
import { isMarkedRemoved } from '../../compiler/removedmark.ts';
import { openNftKernel } from '../../kernel/netlink/nftables/nft-kernel.ts';
import { type RemovedTables, removeOtherTables } from '../../kernel/netlink/nftables/othertables.ts';
import { sleep } from '../../lib/async/sleep.ts';
import { plural } from '../../lib/text/plural.ts';
import { NodeInterfaces } from '../../network/attach/nodeinterfaces.ts';
import { removeList, removePlugin } from '../../network/cni/plugininstall.ts';
import type { Kernel, KernelError, Owner } from '../../nft/kernel.ts';
import { plan } from '../../nft/plan/plan.ts';
import { type Ruleset, TABLE_NAME } from '../../nft/ruleset.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { writeLine } from '../../terminal/output.ts';

export interface UninstallHereOptions {
  /** How many seconds the agent of this node, which has the order to end, may take. */
  readonly afterAgent?: number;
  readonly cniBinDir?: string;
  readonly cniConfDir?: string;
}

const NOTHING: Ruleset = { tables: new Map() };

/** The CNI list goes first: the runtime asks for no further pod. The rules go last: nothing is open before it is gone. */
export async function uninstallHere(options: UninstallHereOptions): Promise<void> {
  const { afterAgent = 0, cniBinDir, cniConfDir } = options;
  const kernel = await openNftKernel();
  try {
    await agentHasEnded(afterAgent * 1000, {
      owner: () => kernel.owner(),
      isMarked: async () => isMarkedRemoved((await kernel.dump()).ruleset),
      sleep,
      now: () => performance.now(),
    });
    await requireNoAgent(kernel);
    const removed = [
      ...(cniConfDir !== undefined && (await removeList(cniConfDir))
        ? [`the CNI list in ${cniConfDir}`]
        : []),
      ...(cniBinDir !== undefined && (await removePlugin(cniBinDir)) ? [`sluice-cni in ${cniBinDir}`] : []),
      ...(await removeLinks()),
    ];
    const tables = await removeTables(kernel);
    const all = [...removed, ...tables.removed.map(table => `table ${table}`)];
    if (all.length > 0) writeLine(`removed ${all.join(', ')}`);
    if (tables.refused.length > 0) throw notRemoved(tables.refused);
    if (all.length === 0) writeLine('nothing to remove');
  } finally {
    kernel.close();
  }
}

/** One of our tables still has an owner: an agent of another layout that did not get the order to end. */
function notRemoved(refused: readonly KernelError[]): CommandError {
  return new CommandError(
    `not removed: ${refused.map(({ message }) => message).join(', ')}; stop who owns it, and run this again`,
  );
}

async function requireNoAgent(kernel: Kernel): Promise<void> {
  if ((await kernel.owner()) !== 'another') return;
  throw new CommandError('an agent is running here and owns the tables: stop it first; nothing was changed');
}

/** Interfaces of attached pods, whose pods lose their network with them, and the routes to the pods of other nodes. */
async function removeLinks(): Promise<string[]> {
  const links = new NodeInterfaces();
  try {
    const attachments = await links.attachments();
    for (const { index } of attachments) await links.remove(index);
    const routes = await links.routes();
    for (const route of routes) await links.removeRoute(route);
    return [
      ...(attachments.length > 0 ? [plural(attachments.length, 'interface')] : []),
      ...(routes.length > 0 ? [plural(routes.length, 'route')] : []),
    ];
  } finally {
    links.close();
  }
}

/** Deletes our tables in one batch, also with the chains and sets of a newer layout; all other tables stay. */
async function removeTables(kernel: Kernel): Promise<RemovedTables> {
  const { ruleset, generation } = await kernel.dump();
  await kernel.commit(plan(ruleset, NOTHING), generation);
  const others = await removeOtherTables(isLayout);
  const own = [...ruleset.tables.keys()].map(family => `${family} ${TABLE_NAME}`);
  return { ...others, removed: [...own, ...others.removed] };
}

/** How a cleaner that starts beside the agent of this node waits for its end. */
interface AgentEnd {
  readonly owner: () => Promise<Owner>;
  /** Whether the tables have the mark of an agent that ended because it is being removed. */
  readonly isMarked: () => Promise<boolean>;
  readonly sleep: (ms: number) => Promise<unknown>;
  readonly now: () => number;
}

const POLL_MS = 100;

/**
 * An agent that was killed, or never started, leaves no mark: after `mostMs` the runtime has certainly killed it. If
 * our tables still have an owner then, it is an agent that did not get the order to end.
 */
export async function agentHasEnded(
  mostMs: number,
  { owner, isMarked, sleep, now }: AgentEnd,
): Promise<void> {
  const endMs = now() + mostMs;
  while (now() < endMs) {
    if ((await owner()) !== 'another' && (await isMarked())) return;
    await sleep(POLL_MS);
  }
}
