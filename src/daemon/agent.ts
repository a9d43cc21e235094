/**
 * `sluice agent`: what is opened, what runs, and what is closed, in this order.
 *
 *     prepare ─▶ open the pipeline ─▶ listen ─▶ source synced ─▶ pod network ─▶ agent, start gate ─▶ stop ─▶ close
 */
import type { Logger } from 'pino';
import { aborted } from '../lib/async/aborted.ts';
import { type Cluster, knowsNode } from '../model/cluster.ts';
import { type AgentCommandOptions, attaches, checkOptions } from './options.ts';
import { openPipeline, type Pipeline } from './pipeline.ts';
import type { PodGate } from './pods/startgate.ts';
import { prepareProcess } from './process.ts';
import { type Servers, startServers } from './serve/servers.ts';
import type { AgentSource } from './source/agentsource.ts';
import { stopSignal } from './stopsignal.ts';

export type { AgentCommandOptions } from './options.ts';

/** When Sluice is removed, its agents end within this time after their rights to read the cluster have gone. */
const RECENT_MS = 300_000;

/** Runs until SIGTERM or SIGINT. Rules outlive it: `sluice uninstall` removes them. */
export async function agentCommand(options: AgentCommandOptions): Promise<void> {
  const stop = stopSignal;
  if (stop.aborted) return;
  checkOptions(options);
  const log = await prepareProcess(options);
  const pipeline = await openPipeline(options, log);
  const servers = startServers(options, pipeline, log);
  try {
    await run(options, pipeline, stop, log);
  } finally {
    await close(pipeline, servers);
  }
  const { source } = pipeline;
  if (options.manifests === undefined) await lookForRemoval(source.wasReadWithin(RECENT_MS), log);
  log.info({}, 'agent stops; its rules stay in force');
}

// Loaded only at the end: this may be the last agent of its node.
async function lookForRemoval(wasRead: boolean, log: Logger): Promise<void> {
  const { leaveOpenWhereRemoved } = await import('./removal.ts');
  await leaveOpenWhereRemoved(wasRead, log);
}

async function run(
  options: AgentCommandOptions,
  { source, agent, status, staleConntrack, denials, podNetwork, gate, interfaces }: Pipeline,
  stop: AbortSignal,
  log: Logger,
): Promise<void> {
  await source.mayStart(stop);
  if (stop.aborted) return;
  denials.start();
  void source.synced.then(() => status.setSynced());
  warnOfUnknownNode(options.node, agent.cluster, log);
  await interfaces.start();
  await podNetwork?.network?.start();
  if (attaches(options)) staleConntrack.sweep();
  const ended = new AbortController();
  const gating = gateWhenSynced(source, gate, AbortSignal.any([stop, ended.signal]));
  try {
    await agent.run(stop);
  } finally {
    ended.abort();
    await gating;
  }
}

/** The gate waits until all policies have been read: without them it could not promise a container its rules. */
async function gateWhenSynced({ synced }: AgentSource, gate: PodGate, ended: AbortSignal): Promise<void> {
  await Promise.race([synced, aborted(ended)]);
  await gate.run(ended);
}

/** Closes the source first, so that no further event comes, then the parts that act on their own, then the servers. */
async function close(pipeline: Pipeline, servers: Servers): Promise<void> {
  await pipeline.source.close();
  pipeline.interfaces.close();
  pipeline.liveConnections?.close();
  pipeline.staleConntrack.close();
  pipeline.audits.close();
  pipeline.denials.close();
  pipeline.counts?.close();
  pipeline.flows.close();
  await pipeline.dns.close();
  await servers.close();
  await pipeline.podNetwork?.close();
}

/** With a misspelt node name nothing is protected, and all would look healthy. The node may also register later. */
function warnOfUnknownNode(node: string, cluster: Cluster, log: Logger): void {
  if (knowsNode(cluster, node)) return;
  const others = [...cluster.nodes.keys()].slice(0, 5).join(', ') || 'none';
  log.warn(
    { node },
    `there is no Node ${node} and no pod on it (nodes: ${others}); nothing is enforced until there is`,
  );
}
