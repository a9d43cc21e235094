/**
 * The way from the source to the kernel. It is opened from its end: whoever takes something is there before whoever
 * hands it over.
 *
 *     source ──events──▶ local pods ──events──▶ agent ──batches──▶ kernel
 *                            ▲                    └──▶ observers: status, barrier, open connections
 *       start gate, pod network: sandboxes
 */
import type { Logger } from 'pino';
import { podPortsIn } from '../compiler/podports.ts';
import type { Cluster, ClusterEvent } from '../model/cluster.ts';
import { withoutRepeats } from '../model/repeats.ts';
import { readBridgeTable } from '../netlink/nftables/bridgetable.ts';
import { LocalPods } from '../network/sandboxes/localpods.ts';
import type { AgentSource } from './agentsource.ts';
import { type Enforcement, openEnforcement } from './enforcement.ts';
import { OwnLinks } from './nodelinks.ts';
import { type AgentCommandOptions, attaches, cutsConnections, dnsOptions, podLinks } from './options.ts';
import type { PodNetworkNeeds, PodNetworkParts } from './podnetwork.ts';
import { quarantineReporter } from './quarantinereporter.ts';
import { networkCondition, openSource } from './source.ts';
import { lateNotice, PodGate, startsOf } from './startgate.ts';

export interface Pipeline {
  readonly source: AgentSource;
  readonly enforcement: Enforcement;
  readonly gate: PodGate;
  readonly links: OwnLinks;
  readonly podNetwork?: PodNetworkParts;
}

export async function openPipeline(options: AgentCommandOptions, log: Logger): Promise<Pipeline> {
  const { node } = options;
  const starts = startsOf(options);
  const localPods = new LocalPods(node);
  const enforcement = await openEnforcement(
    {
      node,
      unknownPods: starts.unknownPods,
      podLinks: podLinks(options),
      cutsConnections: cutsConnections(options),
      dns: dnsOptions(options),
    },
    localPods,
    log,
  );
  const { agent, status, barrier, staleConntrack } = enforcement;
  log.info({ node, pid: process.pid }, 'agent starts');
  // Where nobody but the source knows of pods, its word is taken as it is.
  const merges = starts.gate.on || attaches(options);
  const bridges = enforcement.kernelFeatures.opened(await readBridgeTable());
  const links = new OwnLinks({
    node,
    cluster: () => agent.cluster,
    note: (events, urgent) => agent.note(events, { urgent }),
    bridgeRules: bridges.missingFeatures.length === 0,
    portsBefore: podPortsIn(bridges.ruleset) ?? [],
    log,
  });
  const takeIn = (events: readonly ClusterEvent[]) => {
    const merged = merges ? localPods.merge(events) : events;
    if (merged.some(event => hasOtherAddresses(event, agent.cluster, node))) void links.look();
    agent.note(withoutRepeats(links.merge(merged), agent.cluster));
  };
  const source = await openSource(options, takeIn, status, log);
  agent.observe(quarantineReporter(notice => source.report(notice)));
  // Whoever waits for a pod's rules waits for those of its port too.
  const programmed = { programmed: () => links.look(true).then(() => barrier.programmed()) };
  const gate = new PodGate(starts, {
    localPods,
    agent,
    barrier: programmed,
    staleConntrack,
    onLate: late => source.report(lateNotice(late)),
    log,
  });
  const podNetwork = await openPods(options, {
    localPods,
    agent,
    status,
    barrier: programmed,
    staleConntrack,
    onNetworkUnavailable: unavailable => source.reportNode(networkCondition(unavailable)),
    log,
  });
  return { source, enforcement, gate, links, ...(podNetwork !== undefined && { podNetwork }) };
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
  const { openPodNetwork } = await import('./podnetwork.ts');
  return openPodNetwork(podNetwork, node, needs);
}
