/** `sluice drops`, `flows` and `record` where no agent is: the same command in the pod of every agent of the cluster. */

import { CommandError } from '../../terminal/commanderror.ts';
import { type OutputOptions, writeNote } from '../../terminal/output.ts';
import { type DropFilter, filterWords } from '../drops/filter.ts';
import {
  denialsText,
  deniedWordOf,
  flowsText,
  Printer,
  recordedFromMs,
  sayAtInterrupt,
} from '../drops/printer.ts';
import { agentOrCluster } from '../sources/askagent.ts';
import { DEFAULT_SOCKET } from '../sources/state.ts';
import type { Agents } from './agents.ts';
import type { NodeReport } from './report.ts';

export interface WhereOptions {
  readonly socket?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  /** The namespace of the agents. */
  readonly agents: string;
  /** The one node of a cluster to ask, if not all of them. */
  readonly node?: string;
  /** We are asked by a prompt elsewhere. */
  readonly remote?: boolean;
  readonly follow?: boolean;
}

/** The socket of the agent to ask; undefined if the cluster is to be asked. */
export async function socketOf(options: WhereOptions): Promise<string | undefined> {
  const { socket, node } = options;
  if (options.remote) return socket ?? DEFAULT_SOCKET;
  if (node !== undefined && socket !== undefined)
    throw new CommandError('--socket asks the agent of this machine, and --node one of a cluster: give one');
  if (node !== undefined) return undefined;
  const asked = await agentOrCluster(options);
  if (asked === undefined)
    throw new CommandError(
      `no agent on this node (${DEFAULT_SOCKET}) and no kubeconfig: name --kubeconfig FILE or --socket PATH`,
    );
  return asked === 'cluster' ? undefined : asked.socket;
}

export interface ClusterQuestion {
  readonly command: 'drops' | 'flows';
  readonly filter: DropFilter;
  /** More options, as the agents' own command takes them. */
  readonly words?: readonly string[];
  /** How far back what is recorded is asked for, in seconds; absent: all of it, or with `follow` nothing. */
  readonly since?: number | undefined;
  /** Only so many of what is recorded. */
  readonly last?: number | undefined;
}

/**
 * `ifNothing` is called with the options of the agents' command if no node has sent anything. Throws CommandError if the
 * cluster cannot be asked.
 */
export async function askCluster(
  { command, filter, words = [], since, last }: ClusterQuestion,
  options: WhereOptions & OutputOptions,
  ifNothing?: (agents: Agents, given: readonly string[]) => Promise<void>,
): Promise<void> {
  const [{ clusterAgents }, { askEveryNode }] = await Promise.all([
    import('./clusteragents.ts'),
    import('./everynode.ts'),
  ]);
  const given = [...filterWords(filter), ...words];
  const { follow = false, output, node } = options;
  const printer = new Printer({ output, last, deniedWord: deniedWordOf(command) });
  const unshown = new Set<string>();
  const agents = await clusterAgents(options);
  const [beganMs, counts] = [performance.now(), { Denial: 0, SeenFlow: 0 }];
  if (follow)
    sayAtInterrupt(output, printer, () =>
      command === 'drops'
        ? denialsText(printer.count)
        : flowsText(counts.SeenFlow, counts.Denial, performance.now() - beganMs),
    );
  const isWhole = await askEveryNode({
    agents,
    words: ['sluice', command, '--output=json', '--remote', ...(follow ? ['--follow'] : []), ...given],
    follow,
    ...(node !== undefined && { only: node }),
    // New connections are not recorded.
    fromMs: command === 'drops' ? recordedFromMs({ follow, since, last }) : 0,
    print: async report => {
      if (await show(report, filter, printer, unshown)) counts[report.kind]++;
    },
    onBegun: async () => {
      if (follow) await printer.begin();
    },
    note: writeNote,
    end: new AbortController().signal,
  });
  await printer.begin();
  if (!isWhole) process.exitCode = 2;
  if (printer.count === 0) await ifNothing?.(agents, given);
}

/**
 * Whether the report is one that is asked for. A garbled object of one agent does not hide the others. It is reported
 * once for its node, which `unshown` then has.
 */
async function show(
  { node, shown, isMeant }: NodeReport,
  filter: DropFilter,
  printer: Printer,
  unshown: Set<string>,
): Promise<boolean> {
  try {
    if (!isMeant(filter)) return false;
    await printer.take(shown);
    return true;
  } catch (error) {
    if (!(error instanceof TypeError) && !(error instanceof RangeError)) throw error;
    if (!unshown.has(node)) writeNote(`node ${node} reported something that cannot be shown`);
    unshown.add(node);
    return false;
  }
}
