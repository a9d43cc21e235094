/**
 * The way from the source to the kernel. It is opened from its end: whoever takes something is there before whoever
 * hands it over.
 *
 *     source ──events──▶ local pods ──events──▶ agent ──batches──▶ kernel
 *                            ▲                    └──▶ observers: status, barrier, open connections
 *       start gate, pod network: sandboxes
 */
import type { Logger } from 'pino';
import type { Cluster, ClusterEvent } from '../model/cluster.ts';
import { withoutRepeats } from '../model/repeats.ts';
import { LocalPods } from '../network/sandboxes/localpods.ts';
import { NO_BRIDGE_TABLES } from '../nft/missingfeature.ts';
import { type Enforcement, openEnforcement } from './enforcement.ts';
import {
  type AgentCommandOptions,
  attaches,
  cutsConnections,
  denialLimits,
  dnsOptions,
  podLinksOf,
} from './options.ts';
import { InterfaceWatcher } from './pods/interfacewatcher.ts';
import type { PodNetworkNeeds, PodNetworkParts } from './pods/podnetwork.ts';
import { lateStartSpec, PodGate, type StartGateConfig, startGateConfig } from './pods/startgate.ts';
import type { AgentSource } from './source/agentsource.ts';
import { quarantineReporter } from './source/quarantinereporter.ts';
import { loadAgentSource, networkCondition } from './source/source.ts';

export interface Pipeline {
  readonly source: AgentSource;
  readonly enforcement: Enforcement;
  readonly gate: PodGate;
  readonly links: InterfaceWatcher;
  readonly podNetwork?: PodNetworkParts;
}

export async function openPipeline(options: AgentCommandOptions, log: Logger): Promise<Pipeline> {
  const starts = startGateConfig(options);
  const localPods = new LocalPods(options.node);
  const loading = loadAgentSource(options); // while the kernel is asked what it can do
  const enforcement = await openAgent(options, starts, localPods, log);
  const links = openLinks(options, enforcement, log);
  // Where nobody but the source knows of pods, its word is taken as it is.
  const merging = starts.gate.on || attaches(options) ? localPods : undefined;
  const openSource = await loading;
  const source = await openSource({
    onEvents: taker(options.node, merging, links, enforcement),
    watcher: enforcement.status,
    ...(enforcement.denials.services && { services: enforcement.denials.services }),
    isolatedBefore: enforcement.adopted.isolatedPods,
    log,
  });
  enforcement.audits.reportTo(spec => source.report(spec));
  enforcement.agent.observe(quarantineReporter(spec => source.report(spec)));
  const needs = startNeeds(localPods, links, enforcement, log);
  const gate = new PodGate(starts, { ...needs, onLate: late => source.report(lateStartSpec(late)) });
  const podNetwork = await openPods(options, {
    ...needs,
    status: enforcement.status,
    onNetworkUnavailable: unavailable => source.reportNode(networkCondition(unavailable)),
  });
  return { source, enforcement, gate, links, ...(podNetwork !== undefined && { podNetwork }) };
}

async function openAgent(
  options: AgentCommandOptions,
  { unknownPods }: StartGateConfig,
  localPods: LocalPods,
  log: Logger,
): Promise<Enforcement> {
  const { node } = options;
  const how = {
    node,
    unknownPods,
    podLinks: podLinksOf(options),
    cutsConnections: cutsConnections(options),
    dns: dnsOptions(options),
    countsRules: options.countRules ?? false,
    denials: { limits: denialLimits(options), logs: options.logDenials ?? 'sampled' },
  };
  const enforcement = await openEnforcement(how, localPods, log);
  log.info({ node, pid: process.pid }, 'agent starts');
  return enforcement;
}

function openLinks(
  { node, podTunnels }: AgentCommandOptions,
  { agent, adopted: inherited, kernelFeatures }: Enforcement,
  log: Logger,
): InterfaceWatcher {
  return new InterfaceWatcher({
    node,
    cluster: () => agent.cluster,
    apply: (events, urgent) => agent.note(events, { urgent }),
    bridgeRules: !kernelFeatures.missingFeatures.includes(NO_BRIDGE_TABLES),
    portsBefore: inherited.podPorts,
    ...(podTunnels && { podTunnels }),
    log,
  });
}

/** Takes what the source reports to the agent. */
function taker(
  node: string,
  localPods: LocalPods | undefined,
  links: InterfaceWatcher,
  { agent }: Enforcement,
): (events: readonly ClusterEvent[]) => void {
  return events => {
    const merged = localPods?.merge(events) ?? events;
    if (merged.some(event => hasOtherAddresses(event, agent.cluster, node))) void links.look();
    agent.note(withoutRepeats(links.merge(merged), agent.cluster));
  };
}

/** What those need who start pods. Whoever waits for a pod's rules waits for those of its port too. */
function startNeeds(
  localPods: LocalPods,
  links: InterfaceWatcher,
  { agent, barrier, staleConntrack }: Enforcement,
  log: Logger,
) {
  const programmed = { programmed: () => links.look(true).then(() => barrier.programmed()) };
  return { localPods, agent, barrier: programmed, staleConntrack, log };
}

/** Whether a pod of the node has come, or has other addresses: then it may be behind a port that nobody knows. */
function hasOtherAddresses(event: ClusterEvent, { pods }: Cluster, node: string): boolean {
  if (event.type !== 'pod' || event.value?.node !== node) return false;
  return event.value.addresses.join() !== (pods.get(event.key)?.addresses.join() ?? '');
}

// Loaded where it is wanted only: its thread and its sockets are no part of an agent that enforces and nothing else.
async function openPods(
  { node, podNetwork = 'none' }: AgentCommandOptions,
  needs: PodNetworkNeeds,
): Promise<PodNetworkParts | undefined> {
  if (podNetwork === 'none') return undefined;
  const { openPodNetwork } = await import('./pods/podnetwork.ts');
  return openPodNetwork(podNetwork, node, needs);
}
