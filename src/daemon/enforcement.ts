/**
 * The parts that enforce policy in the kernel: the agent, its observers, and the parts that cut or forget connections.
 *
 *     events ──▶ Agent ──▶ Incremental ──▶ passes: guard, counters ──▶ kernel
 *                  │           │                                                  │ beforeCommit
 *                  │           └── follower: Denials.view                         └─▶ RuleCounts
 *                  │ each commit
 *                  ├─▶ DnsWatcher        reads DNS answers for pods with rules by name
 *                  ├─▶ LiveConnections   cuts connections that policy denies now; asks DnsWatcher
 *                  ├─▶ StatusKeeper      status, metrics
 *                  ├─▶ CommitBarrier     wakes callers that wait for a pod's rules
 *                  └─▶ Audits            what audited policies would do; reads FlowReader, Denials.view
 */

import { release } from 'node:os';
import type { Logger } from 'pino';
import { Agent } from '../agent/agent.ts';
import { CommitBarrier } from '../agent/commitbarrier.ts';
import { LiveConnections } from '../agent/connections/liveconnections.ts';
import { StaleConntrack } from '../agent/connections/staleconntrack.ts';
import type { MakeEngine, RulePass } from '../agent/engine.ts';
import { KernelFeatures } from '../agent/kernelfeatures.ts';
import { StatusKeeper } from '../agent/status.ts';
import type { DenialLimits } from '../compiler/denied.ts';
import { Incremental } from '../compiler/live/incremental.ts';
import { withoutGuard } from '../compiler/midstreamguard.ts';
import type { DnsQueue } from '../compiler/namespeers.ts';
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
import { NO_SUBJECTS, type Subjects } from '../names/subjects.ts';
import type { LocalPods } from '../network/sandboxes/localpods.ts';
import type { Kernel } from '../nft/kernel.ts';
import { NO_LAST, NO_LOGS } from '../nft/missingfeature.ts';
import type { Ruleset } from '../nft/ruleset.ts';
import { DnsWatcher, readResolvers } from './dns/watcher.ts';
import { placeholderNode, readAdoptedState } from './source/adoptedstate.ts';
import { Audits } from './watching/audits.ts';
import { Denials, type DenialsOptions } from './watching/denials.ts';
import { FlowReader } from './watching/flows.ts';
import { RuleCounts } from './watching/rulecounts.ts';

export interface EnforcementOptions {
  readonly node: string;
  readonly unknownPods: UnknownPods;
  /** Whether we or another network plugin link this node's pods. */
  readonly podLinks: PodLinks;
  /** Open connections that policy comes to deny are cut. */
  readonly cutsConnections: boolean;
  readonly dns: DnsOptions;
  readonly countsRules: boolean;
  readonly denials: Pick<DenialsOptions, 'limits' | 'logs'>;
}

/** How DNS answers of pods are read. */
export interface DnsOptions {
  /** Resolvers of pods in addition to those of resolv.conf. */
  readonly servers: readonly Address[];
  /** The ports from which they answer. */
  readonly ports: readonly number[];
  readonly lifetimes: Partial<Lifetimes>;
}

export type Enforcement = Awaited<ReturnType<typeof openEnforcement>>;

/** Throws KernelError at once where the kernel is of no use, and not only when the cluster has been read. */
export async function openEnforcement(options: EnforcementOptions, localPods: LocalPods, log: Logger) {
  const { node } = options;
  const { kernel, open, kernelFeatures, conntrack, adopted } = await openKernel(options, log);
  const engines = new Engines(options, kernel);
  const dns = new DnsWatcher({
    queue: engines.queue,
    subjects: engines.subjects,
    isNaming: engines.isNaming,
    lifetimes: options.dns.lifetimes,
    conntrack,
    ownAddresses,
    log,
  });
  const denials = openDenials(options, kernel, dns, log);
  const { view, services } = denials;
  const counts = options.countsRules ? new RuleCounts() : undefined;
  const flows = new FlowReader({ view, serviceOf: services?.of, ownAddresses, log });
  const audits = new Audits({ node, view, flows, denials, log });
  const liveConnections = options.cutsConnections
    ? new LiveConnections({ conntrack: conntrack(), ownAddresses, log, node, names: dns })
    : undefined;
  const [status, barrier] = [new StatusKeeper(node), new CommitBarrier()];
  const agent = new Agent({
    node,
    open: startingWith(kernel, open),
    engine: engines.make,
    passes: passesOf(options, kernel, counts),
    follower: view,
    ...(counts && { beforeCommit: ops => counts.before(ops) }),
    log,
    // DnsWatcher first: open connections are judged by the DNS answers that it has.
    observers: [dns, ...(liveConnections ? [liveConnections] : []), status, barrier, audits],
  });
  agent.apply([...placeholderNode(node, adopted), ...hostPortEvents([], adopted.hostPorts)]);
  const vacant = () => vacantAddresses(agent.cluster, node, localPods);
  const staleConntrack = new StaleConntrack(conntrack(), vacant, log);
  return {
    agent,
    status,
    barrier,
    kernelFeatures,
    liveConnections,
    staleConntrack,
    dns,
    denials,
    counts,
    flows,
    audits,
    adopted,
  };
}

/** Opens the kernel and reads what the previous agent left in it. */
async function openKernel({ podLinks, unknownPods }: EnforcementOptions, log: Logger) {
  const kernelFeatures = new KernelFeatures(release(), log);
  const open = async () => kernelFeatures.opened(await openNftKernel({ podLinks }));
  const conntrack = () => kernelFeatures.opened(openConntrack());
  const kernel = await open();
  const adopted = await readAdoptedState(kernel, podLinks);
  if (adopted.isMarkedRemoved && unknownPods === 'deny') await denyAgain(log);
  return { kernel, open, kernelFeatures, conntrack, adopted };
}

// Loaded only where the previous agent ended as for a removal that never came.
async function denyAgain(log: Logger): Promise<void> {
  const { denyUnknownPodsAgain } = await import('./denyagain.ts');
  await denyUnknownPodsAgain(log);
}

/** Makes the engines of the agent, and returns the subjects of the latest one's rules by name. */
class Engines {
  readonly queue: DnsQueue | undefined;
  #latest: Incremental | undefined;
  readonly #options: EnforcementOptions;
  readonly #denials: DenialLimits | undefined;

  constructor(options: EnforcementOptions, { queue, missingFeatures }: Kernel) {
    const { servers, ports } = options.dns;
    this.#options = options;
    this.#denials = missingFeatures.includes(NO_LOGS) ? undefined : options.denials.limits;
    this.queue = queue && { queue, resolvers: readResolvers(servers), ports };
  }

  readonly make: MakeEngine = stagesPrepared => {
    const { node, unknownPods, podLinks } = this.#options;
    const limits = { stagesPrepared, denials: this.#denials };
    this.#latest = new Incremental(node, unknownPods, podLinks, this.queue, limits);
    return this.#latest;
  };

  readonly subjects = (): Subjects => this.#latest?.namesSubjects ?? NO_SUBJECTS;
  readonly isNaming = (): boolean => this.#latest?.isNaming ?? false;
}

function openDenials(options: EnforcementOptions, kernel: Kernel, dns: DnsWatcher, log: Logger): Denials {
  const { node, unknownPods } = options;
  const resolved = () => dns.cache?.asOf(Date.now());
  const isPossible = !kernel.missingFeatures.includes(NO_LOGS);
  return new Denials({ ...options.denials, isPossible, node, unknownPods, resolved, log });
}

/** Passes over each desired ruleset before it is compared with the kernel's. */
function passesOf(
  { cutsConnections }: EnforcementOptions,
  { missingFeatures }: Kernel,
  counts: RuleCounts | undefined,
): RulePass[] {
  const kept = missingFeatures.includes(NO_LAST) ? 'times' : 'times and last';
  return [
    ...(cutsConnections ? [] : [withoutGuard]),
    ...(counts === undefined ? [] : [(ruleset: Ruleset) => withRuleCounters(ruleset, kept)]),
  ];
}

/** The agent starts with the kernel that is open already: opening one tries out our rules, some twenty milliseconds. */
function startingWith(first: Kernel, open: () => Promise<Kernel>): () => Promise<Kernel> {
  let opened: Kernel | undefined = first;
  return async () => {
    const kernel = opened ?? (await open());
    opened = undefined;
    return kernel;
  };
}

/** Addresses of this node's pod networks that belong to no known pod and no known interface. */
function vacantAddresses(
  { nodes }: Cluster,
  node: string,
  localPods: LocalPods,
): (address: Address) => boolean {
  const podCidrs = podCidrsOf(nodes.get(node));
  const taken = new Set([...localPods.addresses(), ...ownAddresses()]);
  return address => !taken.has(address) && podCidrs.some(cidr => cidrContains(cidr, address));
}
