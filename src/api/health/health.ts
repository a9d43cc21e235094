import type { Host, Ours } from '../../kernel/host/facts.ts';
import {
  addressOwnersKnown,
  type DenialsFacts,
  denials,
  type KernelFacts,
  kernelEqualsDesired,
  kernelFeatures,
  lastCommit,
  lastEvent,
  nodeRoutes,
  ownNode,
  podAddresses,
  policiesProgrammed,
  sourcesSynced,
  type Work,
} from './agentchecks.ts';
import { flowtables, ipvs, podLinks, podSources, routeLocalnet, sourceRoutes } from './bypasschecks.ts';
import { type Check, isReady } from './check.ts';
import { flannel } from './flannelcheck.ts';
import { bridgeTrafficSeen, conntrackFill, foreignEnforcer, forwarding, podCidrRoute } from './hostchecks.ts';
import { type MemoryFacts, memory } from './memorycheck.ts';
import { type DnsFacts, names } from './namescheck.ts';
import { type PodStarts, startGate, unknownPods } from './startchecks.ts';

export interface Health {
  readonly ready: boolean;
  /** One for each name, in the order of CHECK_NAMES. */
  readonly checks: readonly Check[];
}

/** The facts on which all checks are based. */
export interface HealthFacts {
  readonly work: Work;
  readonly host: Host;
  readonly ours: Ours;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  readonly starts: PodStarts;
  readonly kernel: KernelFacts;
  readonly dns: DnsFacts;
  readonly denied: DenialsFacts;
  readonly memory: MemoryFacts;
}

/** Whether the node's pod network is right, check by check. */
export function health(facts: HealthFacts): Health {
  const { work, host, ours, nowMs, starts, kernel, dns, denied } = facts;
  const checks = [
    sourcesSynced(work),
    ownNode(work, ours),
    kernelEqualsDesired(work, nowMs),
    lastCommit(work, nowMs),
    policiesProgrammed(work),
    memory(facts.memory),
    kernelFeatures(kernel),
    names(dns),
    denials(denied),
    forwarding('ip', host, ours),
    forwarding('ip6', host, ours),
    bridgeTrafficSeen(host, ours),
    conntrackFill(host, ours),
    podCidrRoute(host, ours),
    podAddresses(ours),
    nodeRoutes(ours),
    flannel(host, ours),
    foreignEnforcer(host, ours),
    podSources(host, ours, starts),
    podLinks(ours),
    ipvs(host),
    flowtables(host),
    routeLocalnet(host, ours),
    sourceRoutes(host),
    startGate(starts),
    unknownPods(starts, ours),
    addressOwnersKnown(ours),
    lastEvent(work, nowMs),
  ];
  return { ready: isReady(checks), checks };
}
