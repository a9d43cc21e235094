/** What keeps the kernel equal to policy: the agent, everybody who watches it, and those who forget connections. */
import { release } from 'node:os';
import type { Logger } from 'pino';
import { Agent } from '../agent/agent.ts';
import { CommitBarrier } from '../agent/commitbarrier.ts';
import { LiveConnections } from '../agent/connections/liveconnections.ts';
import { StaleConntrack } from '../agent/connections/staleconntrack.ts';
import { KernelFeatures } from '../agent/kernelfeatures.ts';
import { StatusKeeper } from '../agent/status.ts';
import { withoutMidStreamGuard } from '../agent/withoutmidstreamguard.ts';
import { Incremental } from '../compiler/live/incremental.ts';
import { type Address, cidrContains } from '../model/address.ts';
import type { Cluster } from '../model/cluster.ts';
import { podCidrsOf, type UnknownPods } from '../model/podcidrs.ts';
import { openConntrack } from '../netlink/conntrack/conntrack.ts';
import { openNftKernel } from '../netlink/nftables/nft-kernel.ts';
import type { LocalPods } from '../network/sandboxes/localpods.ts';
import { ownAddresses } from './ownaddresses.ts';

export interface EnforcementOptions {
  readonly node: string;
  readonly unknownPods: UnknownPods;
  /** Open connections that policy comes to deny are cut. */
  readonly cutsConnections: boolean;
}

export interface Enforcement {
  readonly agent: Agent;
  readonly status: StatusKeeper;
  readonly barrier: CommitBarrier;
  readonly kernelFeatures: KernelFeatures;
  readonly liveConnections?: LiveConnections;
  readonly staleConntrack: StaleConntrack;
}

/** Throws KernelError where the kernel is of no use: now, and not when the cluster has been read. */
export async function openEnforcement(
  { node, unknownPods, cutsConnections }: EnforcementOptions,
  localPods: LocalPods,
  log: Logger,
): Promise<Enforcement> {
  const kernelFeatures = new KernelFeatures(release(), log);
  const open = async () => kernelFeatures.opened(await openNftKernel());
  (await open()).close();
  const status = new StatusKeeper(node);
  const barrier = new CommitBarrier();
  const conntrack = () => kernelFeatures.opened(openConntrack());
  const live = cutsConnections
    ? new LiveConnections({ conntrack: conntrack(), ownAddresses, log })
    : undefined;
  const engine = () => {
    const incremental = new Incremental(node, unknownPods);
    return cutsConnections ? incremental : withoutMidStreamGuard(incremental);
  };
  const cutter = {
    committed: (committed: Parameters<LiveConnections['follow']>[0]) => live?.follow(committed),
  };
  const agent = new Agent({ open, engine, log, observers: [cutter, status, barrier] });
  const vacant = () => vacantAddresses(agent.cluster, node, localPods);
  const staleConntrack = new StaleConntrack(conntrack(), vacant, log);
  return {
    agent,
    status,
    barrier,
    kernelFeatures,
    staleConntrack,
    ...(live !== undefined && { liveConnections: live }),
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
