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

/** Whoever is removed is told to end within that time of what tells the API server to know him no more. */
const RECENT_MS = 300_000;

/** Runs until SIGTERM or SIGINT. Rules outlive it: `sluice uninstall` removes them. */
export async function agentCommand(options: AgentCommandOptions): Promise<void> {
  const stop = stopSignal;
  if (stop.aborted) return;
  checkOptions(options);
  const log = await prepareProcess(options);
  const pipeline = await openPipeline(options, log);
  const ears = startServers(options, pipeline, log);
  try {
    await run(options, pipeline, stop, log);
  } finally {
    await close(pipeline, ears);
  }
  const { source } = pipeline;
  if (options.manifests === undefined) await lookForRemoval(source.wasReadWithin(RECENT_MS), log);
  log.info({}, 'agent stops; its rules stay in force');
}

// Loaded where it may be the last agent of its node.
async function lookForRemoval(wasRead: boolean, log: Logger): Promise<void> {
  const { leaveOpenWhereRemoved } = await import('./removal.ts');
  await leaveOpenWhereRemoved(wasRead, log);
}

async function run(
  options: AgentCommandOptions,
  { source, enforcement, podNetwork, gate, links }: Pipeline,
  stop: AbortSignal,
  log: Logger,
): Promise<void> {
  const { agent, status, staleConntrack } = enforcement;
  await source.mayStart(stop);
  if (stop.aborted) return;
  enforcement.denials.start();
  void source.synced.then(() => status.setSynced());
  warnOfUnknownNode(options.node, agent.cluster, log);
  await links.start();
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

/** Who holds containers back until their rules are in force promises nothing about policies that were not read. */
async function gateWhenSynced({ synced }: AgentSource, gate: PodGate, ended: AbortSignal): Promise<void> {
  await Promise.race([synced, aborted(ended)]);
  await gate.run(ended);
}

/** No event comes any more; then whoever acts by itself stops; then whoever answers. */
async function close({ source, enforcement, podNetwork, links }: Pipeline, ears: Servers): Promise<void> {
  await source.close();
  links.close();
  enforcement.liveConnections?.close();
  enforcement.staleConntrack.close();
  enforcement.audits.close();
  enforcement.denials.close();
  enforcement.counts?.close();
  enforcement.flows.close();
  await enforcement.dns.close();
  await ears.close();
  await podNetwork?.close();
}

/** A misspelt name protects nothing, and would look healthy. The node may also be about to register. */
function warnOfUnknownNode(node: string, cluster: Cluster, log: Logger): void {
  if (knowsNode(cluster, node)) return;
  const others = [...cluster.nodes.keys()].slice(0, 5).join(', ') || 'none';
  log.warn(
    { node },
    `there is no Node ${node} and no pod on it (nodes: ${others}); nothing is enforced until there is`,
  );
}
