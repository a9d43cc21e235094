/**
 * Who is answered: the socket and the metrics, and the CNI plugin on the node. Rules come first; but an agent that
 * cannot get that far must be able to say so.
 */
import type { Logger } from 'pino';
import type { StatusKeeper } from '../agent/status.ts';
import { sleep } from '../async/sleep.ts';
import { giveMemoryBack } from '../host/memory.ts';
import { ownNetworkNamespace } from '../host/networknamespace.ts';
import { agentView } from '../rpc/agentview.ts';
import type { AgentView } from '../rpc/view.ts';
import { type AgentCommandOptions, cutsConnections } from './options.ts';
import type { Pipeline } from './pipeline.ts';
import { nodeReader } from './readnode.ts';
import { type Serving, serve } from './serve.ts';

export interface Ears {
  close(): Promise<void>;
}

/** How long the socket may be missing while no rules are in force. */
const SILENT_MS = 2000;

export async function openEars(options: AgentCommandOptions, pipeline: Pipeline, log: Logger): Promise<Ears> {
  const { status } = pipeline.enforcement;
  const closed = new AbortController();
  const view = await viewOf(options, pipeline);
  const serving = serveWhenProgrammed(options, pipeline, view, log, closed.signal);
  void Promise.all([status.firstProgrammed, serving]).then(giveMemoryBack);
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

async function viewOf(options: AgentCommandOptions, pipeline: Pipeline): Promise<AgentView> {
  const { enforcement, gate, podNetwork } = pipeline;
  return agentView({
    identity: {
      networkNamespace: await ownNetworkNamespace(),
      cutsConnections: cutsConnections(options),
    },
    keeper: enforcement.status,
    agent: enforcement.agent,
    readHost: nodeReader(),
    starts: () => gate.status(),
    pods: podNetwork,
    kernel: enforcement.kernelFeatures,
    names: () => enforcement.answers.status(),
  });
}

async function serveWhenProgrammed(
  options: AgentCommandOptions,
  { enforcement, gate }: Pipeline,
  view: AgentView,
  log: Logger,
  closed: AbortSignal,
): Promise<Serving | undefined> {
  const { status, liveConnections } = enforcement;
  await programmedOrLate(status, closed);
  if (closed.aborted) return undefined;
  const totals = {
    connectionsCut: () => liveConnections?.counts.cut ?? 0,
    watchRestarts: () => status.watchRestarts,
    gate,
  };
  return serve(options, view, totals, log);
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
  const { installCni } = await import('./cniinstall.ts');
  await installCni(options, attaching, log, closed);
}
