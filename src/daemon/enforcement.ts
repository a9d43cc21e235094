/**
 * What keeps the kernel equal to policy: the agent, everybody who watches it, and those who forget connections.
 *
 *     events ──▶ Agent ──▶ Incremental ──▶ passes: guard, counters, denials ──▶ kernel
 *                  │           │                                                  │ beforeCommit
 *                  │           └── follower: Denials.view                         └─▶ RuleCounts
 *                  │ each commit
 *                  ├─▶ DnsWatcher        which names matter, whose answers are read
 *                  ├─▶ LiveConnections   cuts what policy has come to deny; asks DnsWatcher
 *                  ├─▶ StatusKeeper      status, metrics
 *                  ├─▶ CommitBarrier     who waits for the rules of a pod
 *                  └─▶ Audits            what audited policies would do; reads FlowReader, Denials.view
 */

import { release } from 'node:os';
import type { Logger } from 'pino';
import { Agent } from '../agent/agent.ts';
import { CommitBarrier } from '../agent/commitbarrier.ts';
import { LiveConnections } from '../agent/connections/liveconnections.ts';
import { StaleConntrack } from '../agent/connections/staleconntrack.ts';
import { KernelFeatures } from '../agent/kernelfeatures.ts';
import type { Observer } from '../agent/observer.ts';
import { StatusKeeper } from '../agent/status.ts';
import { Incremental } from '../compiler/live/incremental.ts';
import { withoutGuard } from '../compiler/midstreamguard.ts';
import { withRuleCounters } from '../compiler/rulecounters.ts';
import { ownAddresses } from '../kernel/host/read.ts';
import { openConntrack } from '../kernel/netlink/conntrack/conntrack.ts';
import { openNftKernel } from '../kernel/netlink/nftables/nft-kernel.ts';
import { type Address, cidrContains } from '../model/address.ts';
import type { Cluster } from '../model/cluster.ts';
import { hostPortEvents } from '../model/hostportevents.ts';
import { podCidrsOf, type UnknownPods } from '../model/podcidrs.ts';
import type { PodLinks } from '../model/podlinks.ts';
import type { Lifetimes } from '../names/leasetable.ts';
import { NO_SUBJECTS } from '../names/subjects.ts';
import type { LocalPods } from '../network/sandboxes/localpods.ts';
import type { Conntrack } from '../nft/conntrack.ts';
import type { Kernel } from '../nft/kernel.ts';
import { NO_LAST, NO_LOGS } from '../nft/missingfeature.ts';
import type { Ruleset } from '../nft/ruleset.ts';
import { readResolvers } from './dns/resolvers.ts';
import { DnsWatcher } from './dns/watcher.ts';
import { type AdoptedState, placeholderNode, readAdoptedState } from './source/adoptedstate.ts';
import { Audits } from './watching/audits.ts';
import { Denials, type DenialsOptions } from './watching/denials.ts';
import { FlowReader } from './watching/flows.ts';
import { RuleCounts } from './watching/rulecounts.ts';

export interface EnforcementOptions {
  readonly node: string;
  readonly unknownPods: UnknownPods;
  /** Who links this node's pods with it. */
  readonly podLinks: PodLinks;
  /** Open connections that policy comes to deny are cut. */
  readonly cutsConnections: boolean;
  readonly dns: DnsOptions;
  readonly countsRules: boolean;
  readonly denials: Pick<DenialsOptions, 'limits' | 'logs'>;
}

/** How what pods are told by DNS is heard. */
export interface DnsOptions {
  /** Resolvers that pods ask, beside those of resolv.conf. */
  readonly servers: readonly Address[];
  /** From which they answer. */
  readonly ports: readonly number[];
  readonly lifetimes: Partial<Lifetimes>;
}

export interface Enforcement {
  readonly agent: Agent;
  readonly status: StatusKeeper;
  readonly barrier: CommitBarrier;
  readonly kernelFeatures: KernelFeatures;
  readonly liveConnections?: LiveConnections;
  readonly staleConntrack: StaleConntrack;
  readonly dns: DnsWatcher;
  readonly denials: Denials;
  /** Where rules count. */
  readonly counts?: RuleCounts;
  readonly flows: FlowReader;
  readonly audits: Audits;
  readonly adopted: AdoptedState;
}

/** Throws KernelError where the kernel is of no use: now, and not when the cluster has been read. */
export async function openEnforcement(
  options: EnforcementOptions,
  localPods: LocalPods,
  log: Logger,
): Promise<Enforcement> {
  const { node, podLinks } = options;
  const kernelFeatures = new KernelFeatures(release(), log);
  const open = async () => kernelFeatures.opened(await openNftKernel({ podLinks }));
  const kernel = await open();
  const adopted = await readAdoptedState(kernel, podLinks);
  if (adopted.isMarkedRemoved && options.unknownPods === 'deny') await denyAgain(log);
  const conntrack = () => kernelFeatures.opened(openConntrack());
  const counts = options.countsRules ? new RuleCounts() : undefined;
  const { engine, passes, dns, denials } = policyOf(options, kernel, conntrack, counts, log);
  const liveConnections = options.cutsConnections
    ? new LiveConnections({ conntrack: conntrack(), ownAddresses, log, node, names: dns })
    : undefined;
  const [status, barrier] = [new StatusKeeper(node), new CommitBarrier()];
  // Who is heard is known before open connections are judged by it.
  const observers = [dns, ...(liveConnections ? [cutter(liveConnections)] : []), status, barrier];
  const agent = new Agent({
    node,
    open: startingWith(kernel, open),
    engine,
    passes,
    follower: denials.view,
    ...(counts && { beforeCommit: ops => counts.before(ops) }),
    log,
    observers,
  });
  agent.note([...placeholderNode(node, adopted), ...hostPortEvents([], adopted.hostPorts)]);
  const vacant = () => vacantAddresses(agent.cluster, node, localPods);
  const staleConntrack = new StaleConntrack(conntrack(), vacant, log);
  const flows = new FlowReader({ view: denials.view, serviceOf: denials.services?.of, ownAddresses, log });
  const audits = new Audits({ node, view: denials.view, flows, denials, log });
  agent.observe(audits);
  return {
    agent,
    status,
    barrier,
    kernelFeatures,
    staleConntrack,
    dns,
    denials,
    ...(counts && { counts }),
    flows,
    audits,
    adopted,
    ...(liveConnections !== undefined && { liveConnections }),
  };
}

// Loaded where a removal was none.
async function denyAgain(log: Logger): Promise<void> {
  const { denyUnknownPodsAgain } = await import('./denyagain.ts');
  await denyUnknownPodsAgain(log);
}

/** What makes the rules, and what hears the names that they are about. */
function policyOf(
  options: EnforcementOptions,
  kernel: Kernel,
  conntrack: () => Conntrack,
  counts: RuleCounts | undefined,
  log: Logger,
) {
  const { node, unknownPods, podLinks, cutsConnections } = options;
  const { queue, missingFeatures } = kernel;
  const { servers, ports, lifetimes } = options.dns;
  const kept = missingFeatures.includes(NO_LAST) ? 'times' : 'times and last';
  const dnsQueue = queue && { queue, resolvers: readResolvers(servers), ports };
  let incremental: Incremental | undefined;
  const engine = (goesAhead: boolean) => {
    incremental = new Incremental(node, unknownPods, podLinks, dnsQueue, { goesAhead });
    return incremental;
  };
  const subjects = () => incremental?.namesSubjects ?? NO_SUBJECTS;
  const isNaming = () => incremental?.isNaming ?? false;
  const dns = new DnsWatcher({
    queue: dnsQueue,
    subjects,
    isNaming,
    lifetimes,
    conntrack,
    ownAddresses,
    log,
  });
  const resolved = () => dns.cache?.asOf(Date.now());
  const isPossible = !missingFeatures.includes(NO_LOGS);
  const denials = new Denials({ ...options.denials, isPossible, node, unknownPods, resolved, log });
  const passes = [
    ...(cutsConnections ? [] : [withoutGuard]),
    ...(counts === undefined ? [] : [(ruleset: Ruleset) => withRuleCounters(ruleset, kept)]),
    denials.pass,
  ];
  return { engine, passes, dns, denials };
}

function cutter(live: LiveConnections): Pick<Observer, 'committed'> {
  return { committed: committed => live.follow(committed) };
}

/** The agent's first kernel is the one that was asked: to open one is to try out our rules, some twenty milliseconds. */
function startingWith(first: Kernel, open: () => Promise<Kernel>): () => Promise<Kernel> {
  let opened: Kernel | undefined = first;
  return async () => {
    const kernel = opened ?? (await open());
    opened = undefined;
    return kernel;
  };
}

/** What this node gives to pods, and has given to none that anybody knows of. */
function vacantAddresses(
  { nodes }: Cluster,
  node: string,
  localPods: LocalPods,
): (address: Address) => boolean {
  const podCidrs = podCidrsOf(nodes.get(node));
  const taken = new Set([...localPods.addresses(), ...ownAddresses()]);
  return address => !taken.has(address) && podCidrs.some(cidr => cidrContains(cidr, address));
}
