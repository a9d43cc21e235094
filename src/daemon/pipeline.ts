/**
 * Opens all parts of an agent and connects them, from the kernel back to the source, so that each part is there before
 * the one that hands events to it.
 *
 *     AgentSource ──events──▶ LocalPods.merge ──▶ InterfaceWatcher.merge ──▶ Agent ──batches──▶ kernel
 *       ▲   │ problems          ▲                   ▲ links of the own Node    │
 *       │   └─▶ StatusKeeper    │ sandboxes         │                          └─▶ observers (enforcement.ts)
 *       │                       │                   │ look() before a pod starts
 *       │                     PodGate, PodNetwork ──┴── CommitBarrier.programmed()
 *       │                       │ late pods, Node condition
 *       └── report ─────────────┴── Audits, statusReporter
 */
import type { Logger } from 'pino';
import { memoryLimits } from '../kernel/host/memory.ts';
import type { Cluster, ClusterEvent } from '../model/cluster.ts';
import { withoutRepeats } from '../model/repeats.ts';
import { LocalPods } from '../network/sandboxes/localpods.ts';
import { NO_BRIDGE_TABLES } from '../nft/missingfeature.ts';
import { type Enforcement, type EnforcementOptions, openEnforcement } from './enforcement.ts';
import { memoryWarning } from './memorywarning.ts';
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
import { lateStartSpec, PodGate } from './pods/startgate.ts';
import { type StartGateConfig, startGateConfig } from './pods/startgateconfig.ts';
import { loadAgentSource, networkCondition } from './source/source.ts';
import { statusReporter } from './source/statusreporter.ts';

export type Pipeline = Awaited<ReturnType<typeof openPipeline>>;

export async function openPipeline(options: AgentCommandOptions, log: Logger) {
  const { node } = options;
  const gateConfig = startGateConfig(options);
  const localPods = new LocalPods(node);
  const loading = loadAgentSource(options); // while the kernel is asked what it can do
  const enforcement = await openEnforcement(enforcementOptions(options, gateConfig), localPods, log);
  log.info({ node, pid: process.pid }, 'agent starts');
  const interfaces = watchInterfaces(options, enforcement, log);
  // If only the source reports pods, its events need no merging.
  const merging = gateConfig.gate.on || attaches(options) ? localPods : undefined;
  const openSource = await loading;
  const source = await openSource({
    onEvents: taker(node, merging, interfaces, enforcement, log),
    watcher: enforcement.status,
    ...(enforcement.denials.services && { services: enforcement.denials.services }),
    isolatedBefore: enforcement.adopted.isolatedPods,
    log,
  });
  enforcement.audits.reportTo(spec => source.report(spec));
  enforcement.agent.observe(statusReporter(spec => source.report(spec)));
  const needs = startNeeds(localPods, interfaces, enforcement, log);
  const gate = new PodGate(gateConfig, { ...needs, onLate: late => source.report(lateStartSpec(late)) });
  const podNetwork = await openPods(options, {
    ...needs,
    // A pod that we attach is behind no port of a bridge: to read all interfaces would take longer than its commit.
    ...(options.podNetwork === 'attach' && { barrier: enforcement.barrier }),
    status: enforcement.status,
    onNetworkUnavailable: unavailable => source.reportNode(networkCondition(unavailable)),
  });
  return { ...enforcement, source, interfaces, gate, podNetwork };
}

function enforcementOptions(
  options: AgentCommandOptions,
  { unknownPods }: StartGateConfig,
): EnforcementOptions {
  return {
    node: options.node,
    unknownPods,
    podLinks: podLinksOf(options),
    cutsConnections: cutsConnections(options),
    dns: dnsOptions(options),
    countsRules: options.countRules ?? false,
    denials: { limits: denialLimits(options), logs: options.logDenials ?? 'sampled' },
  };
}

function watchInterfaces(
  { node, podTunnels }: AgentCommandOptions,
  { agent, adopted: inherited, kernelFeatures }: Enforcement,
  log: Logger,
): InterfaceWatcher {
  return new InterfaceWatcher({
    node,
    cluster: () => agent.cluster,
    apply: (events, urgent) => agent.apply(events, { urgent }),
    bridgeRules: !kernelFeatures.missingFeatures.includes(NO_BRIDGE_TABLES),
    portsBefore: inherited.podPorts,
    ...(podTunnels && { podTunnels }),
    log,
  });
}

/** Hands the source's events to the agent. */
function taker(
  node: string,
  localPods: LocalPods | undefined,
  interfaces: InterfaceWatcher,
  { agent }: Enforcement,
  log: Logger,
): (events: readonly ClusterEvent[]) => void {
  const warnOfMemory = memoryWarning(memoryLimits(), log);
  return events => {
    const merged = localPods?.merge(events) ?? events;
    if (merged.some(event => hasOtherAddresses(event, agent.cluster, node))) void interfaces.look();
    const hasNodes = merged.some(({ type }) => type === 'node');
    agent.apply(hasNodes ? withoutRepeats(interfaces.merge(merged), agent.cluster) : merged);
    warnOfMemory(agent.cluster);
  };
}

/**
 * The parts that the start of pods needs. A pod counts as programmed only when the rules of its bridge port are
 * programmed, too.
 */
function startNeeds(
  localPods: LocalPods,
  interfaces: InterfaceWatcher,
  { agent, barrier, staleConntrack }: Enforcement,
  log: Logger,
) {
  const programmed = { programmed: () => interfaces.look(true).then(() => barrier.programmed()) };
  return { localPods, agent, barrier: programmed, staleConntrack, log };
}

/** Whether a pod of the node is new or has other addresses: its bridge port may be unknown then. */
function hasOtherAddresses(event: ClusterEvent, { pods }: Cluster, node: string): boolean {
  if (event.type !== 'pod' || event.value?.node !== node) return false;
  return event.value.addresses.join() !== (pods.get(event.key)?.addresses.join() ?? '');
}

// Loaded only where it is wanted: an agent that only enforces has no use for its thread and sockets.
async function openPods(
  { node, podNetwork = 'none' }: AgentCommandOptions,
  needs: PodNetworkNeeds,
): Promise<PodNetworkParts | undefined> {
  if (podNetwork === 'none') return undefined;
  const { openPodNetwork } = await import('./pods/podnetwork.ts');
  return openPodNetwork(podNetwork, node, needs);
}
