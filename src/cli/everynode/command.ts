/** `sluice drops`, `flows` and `record` where no agent is: the same command in the pod of every agent of the cluster. */

import pc from '../../terminal/colours.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { type OutputOptions, writeNote } from '../../terminal/output.ts';
import { denialsText, flowsText, Printer, sayAtInterrupt } from '../drops/printer.ts';
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
  /** We are asked by a prompt elsewhere. */
  readonly remote?: boolean;
  readonly follow?: boolean;
}

/** The socket of the agent to ask; undefined if the cluster is to be asked. */
export async function socketOf(options: WhereOptions): Promise<string | undefined> {
  if (options.remote) return options.socket ?? DEFAULT_SOCKET;
  const asked = await agentOrCluster(options);
  if (asked === undefined)
    throw new CommandError(
      `no agent on this node (${DEFAULT_SOCKET}) and no kubeconfig: name --kubeconfig FILE or --socket PATH`,
    );
  return asked === 'cluster' ? undefined : asked.socket;
}

/**
 * `words` are options as the agents' own command takes them; `ifNothing` is called with them if no node has sent
 * anything. Throws CommandError if the cluster cannot be asked.
 */
export async function askCluster(
  command: 'drops' | 'flows',
  words: readonly (readonly [option: string, value: string | number | undefined])[],
  options: WhereOptions & OutputOptions,
  ifNothing?: (agents: Agents, given: readonly string[]) => Promise<void>,
): Promise<void> {
  const [{ clusterAgents }, { askEveryNode }] = await Promise.all([
    import('./clusteragents.ts'),
    import('./everynode.ts'),
  ]);
  const given = words.flatMap(([option, value]) => (value === undefined ? [] : [`${option}=${value}`]));
  const { follow = false, output } = options;
  const printer = new Printer(output);
  const unshown = new Set<string>();
  const agents = await clusterAgents(options);
  const [beganMs, counts] = [performance.now(), { Denial: 0, SeenFlow: 0 }];
  if (follow)
    sayAtInterrupt(output, () =>
      command === 'drops'
        ? denialsText(counts.Denial)
        : flowsText(counts.SeenFlow, counts.Denial, performance.now() - beganMs),
    );
  const isWhole = await askEveryNode({
    agents,
    words: ['sluice', command, '--output=json', '--remote', ...(follow ? ['--follow'] : []), ...given],
    follow,
    print: report => {
      counts[report.kind]++;
      return show(report, printer, unshown);
    },
    note: writeNote,
    end: new AbortController().signal,
  });
  if (!isWhole) process.exitCode = 2;
  if (printer.count === 0) await ifNothing?.(agents, given);
}

/** A garbled object of one agent does not hide the others. It is reported once for its node, which `unshown` then has. */
async function show(report: NodeReport, printer: Printer, unshown: Set<string>): Promise<void> {
  try {
    await printer.print(
      () => withNode(report),
      () => report.object,
    );
  } catch (error) {
    if (!(error instanceof TypeError) && !(error instanceof RangeError)) throw error;
    if (!unshown.has(report.node)) writeNote(`node ${report.node} reported something that cannot be shown`);
    unshown.add(report.node);
  }
}

/** The line with its node after the time. */
function withNode({ node, line }: NodeReport): string {
  return line().replace('  ', () => `  ${pc.dim(node)}  `);
}
