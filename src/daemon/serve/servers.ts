/**
 * Starts the servers: the socket, the metrics, and the CNI plugin on the node. They start after the first rules are in
 * force, or after some seconds, so that an agent that cannot program rules can report it.
 */
import type { Logger } from 'pino';
import { PATIENCE_MS } from '../../agent/agent.ts';
import type { StatusKeeper } from '../../agent/status.ts';
import { dropPagesOfProgram, giveMemoryBack } from '../../kernel/host/memory.ts';
import { sleep } from '../../lib/async/sleep.ts';
import type { AgentCommandOptions } from '../options.ts';
import type { Pipeline } from '../pipeline.ts';
import type { Serving } from './serve.ts';

export interface Servers {
  close(): Promise<void>;
}

/** How long the socket may be missing while no rules are in force. A second agent of a node has ended before. */
const SILENT_MS = PATIENCE_MS + 1_000;

export function startServers(options: AgentCommandOptions, pipeline: Pipeline, log: Logger): Servers {
  const { status } = pipeline;
  const closed = new AbortController();
  const serving = serveWhenProgrammed(options, pipeline, log, closed.signal);
  void Promise.all([status.firstProgrammed, serving]).then(() => {
    giveMemoryBack();
    dropPagesOfProgram();
  });
  const attaching = Promise.all([status.firstProgrammed, serving, pipeline.podNetwork?.network?.ready]);
  const installing = install(options, attaching, log, closed.signal);
  return {
    close: async () => {
      closed.abort();
      await installing;
      await (await serving)?.close();
    },
  };
}

async function serveWhenProgrammed(
  options: AgentCommandOptions,
  pipeline: Pipeline,
  log: Logger,
  closed: AbortSignal,
): Promise<Serving | undefined> {
  await programmedOrLate(pipeline.status, closed);
  if (closed.aborted) return undefined;
  // Loaded now, and not before there are rules.
  const [{ openAgentView }, { serve }] = await Promise.all([import('./view.ts'), import('./serve.ts')]);
  return serve(options, await openAgentView(options, pipeline), log);
}

async function programmedOrLate(status: StatusKeeper, closed: AbortSignal): Promise<void> {
  const waiting = new AbortController();
  const wake = () => waiting.abort();
  closed.addEventListener('abort', wake, { once: true });
  void status.firstProgrammed.then(wake);
  await sleep(SILENT_MS, waiting.signal);
}

/** sluice-cni and its list on the node, where they were asked for. */
async function install(
  options: AgentCommandOptions,
  attaching: Promise<unknown>,
  log: Logger,
  closed: AbortSignal,
): Promise<void> {
  const { cniBinDir, cniConfDir } = options;
  if (cniBinDir === undefined && cniConfDir === undefined) return;
  const { installCni } = await import('../pods/cniinstall.ts');
  await installCni(options, attaching, log, closed);
}
