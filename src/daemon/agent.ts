import { release } from 'node:os';
import type { Logger } from 'pino';
import { Agent } from '../agent/agent.ts';
import { CommitBarrier } from '../agent/commitbarrier.ts';
import { type Committed, LiveConnections } from '../agent/connections/liveconnections.ts';
import { StaleConntrack } from '../agent/connections/staleconntrack.ts';
import { KernelFeatures } from '../agent/kernelfeatures.ts';
import { both } from '../agent/observer.ts';
import { StatusKeeper } from '../agent/status.ts';
import { withoutMidStreamGuard } from '../agent/withoutmidstreamguard.ts';
import { sleep } from '../async/sleep.ts';
import { Incremental } from '../compiler/live/incremental.ts';
import { giveMemoryBack, keepMemorySmall } from '../host/memory.ts';
import { ownNetworkNamespace } from '../host/networknamespace.ts';
import type { Unavailable } from '../kube/report/nodecondition.ts';
import { type Address, cidrContains } from '../model/address.ts';
import { type Cluster, type ClusterEvent, knowsNode } from '../model/cluster.ts';
import { podCidrsOf } from '../model/podcidrs.ts';
import { openConntrack } from '../netlink/conntrack/conntrack.ts';
import { openNftKernel } from '../netlink/nftables/nft-kernel.ts';
import type { NetworkError } from '../network/error.ts';
import { LocalPods } from '../network/sandboxes/localpods.ts';
import { agentView } from '../rpc/agentview.ts';
import { CommandError } from '../terminal/commanderror.ts';
import type { CniInstallOptions } from './cniinstall.ts';
import { makeLog } from './log.ts';
import { ownAddresses } from './ownaddresses.ts';
import type { PodNetworkNeeds, PodNetworkParts } from './podnetwork.ts';
import { nameProcess } from './processname.ts';
import { nodeReader } from './readnode.ts';
import { type ServeOptions, serve } from './serve.ts';
import { type AgentSource, openSource, type SourceOptions } from './source.ts';
import { type GateAgent, lateNotice, PodGate, type StartGateOptions, startsOf } from './startgate.ts';
import { stopSignal } from './stopsignal.ts';

export interface AgentCommandOptions
  extends SourceOptions,
    ServeOptions,
    StartGateOptions,
    CniInstallOptions {
  readonly logFormat?: 'json' | 'pretty';
  readonly liveConnections?: 'cut' | 'keep';
  readonly podNetwork?: 'attach' | 'chained' | 'none';
}

/** How long the socket may be missing while no rules are in force. */
const SILENT_MS = 2000;

/** `sluice agent`: runs until SIGTERM or SIGINT. Rules outlive it: `sluice uninstall` removes them. */
export async function agentCommand(options: AgentCommandOptions): Promise<void> {
  const stop = stopSignal;
  if (stop.aborted) return;
  requireAttach(options);
  keepMemorySmall();
  nameProcess('sluice');
  const { node, logFormat: format, liveConnections = 'cut' } = options;
  const log = await makeLog(format ?? (process.stdout.isTTY ? 'pretty' : 'json'));
  const ended = new AbortController();
  const features = new KernelFeatures(release(), log);
  const open = async () => features.opened(await openNftKernel());
  (await open()).close(); // a kernel of no use says so now, and not when the cluster has told all that it holds
  const live = liveConnections === 'cut' ? followConnections(features, log) : undefined;
  const local = new LocalPods(node);
  const gate = new PodGate(startsOf(options), local, log);
  const made = () => new Incremental(node, gate.starts.unknownPods);
  const engine = () => (live === undefined ? withoutMidStreamGuard(made()) : made());
  const afterCommit = (committed: Committed) => live?.follow(committed);
  const keeper = new StatusKeeper(node);
  const arrivals = new CommitBarrier();
  const observer = both(keeper, arrivals);
  const agent = new Agent({ open, engine, log, afterCommit, observer });
  log.info({ node, pid: process.pid }, 'agent starts');
  const identity = {
    networkNamespace: await ownNetworkNamespace(),
    cutsConnections: liveConnections === 'cut',
  };
  const onNetworkUnavailable = (unavailable: NetworkError | undefined) =>
    source.tellNode(networkCondition(unavailable));
  // Whoever hears of pods from nobody but the source takes its word as it is.
  const hasOthers = gate.starts.gate.on || attaches(options);
  const vacant = () => vacantAddresses(agent.cluster, node, local);
  const old = new StaleConntrack(features.opened(openConntrack()), vacant, log);
  const pods = await openPods(options, { local, agent, keeper, arrivals, onNetworkUnavailable, old, log });
  const view = agentView({
    identity,
    keeper,
    agent,
    readHost: nodeReader(),
    starts: () => gate.status(),
    pods,
    kernel: features,
  });
  const totals = {
    connectionsCut: () => live?.counts.cut ?? 0,
    watchRestarts: () => keeper.watchRestarts,
    gate,
  };
  const merge = (events: readonly ClusterEvent[]) => {
    pods?.follow(events);
    return hasOthers ? local.told(events) : events;
  };
  const source: AgentSource = await openSource(options, events => agent.note(merge(events)), keeper, log);
  const serving = whenInForce(keeper, ended.signal).then(() =>
    ended.signal.aborted ? undefined : serve(options, view, totals, log),
  );
  void Promise.all([keeper.inForce, serving]).then(giveMemoryBack);
  const ready = Promise.all([keeper.inForce, serving, pods?.network?.ready]);
  const installing = install(options, ready, log, ended.signal);
  try {
    await source.synced(stop);
    if (!stop.aborted) {
      keeper.setSynced();
      warnOfUnknownNode(node, agent.cluster, log);
      await pods?.network?.start();
      if (attaches(options)) old.sweep();
      const gated: GateAgent = {
        note: (events, how) => agent.note(events, how),
        inForce: () => arrivals.inForce(),
        predecessors: old,
        onLate: late => source.tell(lateNotice(late)),
      };
      const gating = gate.run(gated, AbortSignal.any([stop, ended.signal]));
      await agent.run(stop);
      await gating;
    }
  } finally {
    await source.close();
    live?.close();
    old.close();
    ended.abort();
    await installing;
    await (await serving)?.close();
    await pods?.close();
  }
  log.info({}, 'agent stops; its rules stay in force');
}

/** What this node gives to pods, and has given to none that anybody knows of. */
function vacantAddresses({ nodes }: Cluster, node: string, local: LocalPods): (address: Address) => boolean {
  const podCidrs = podCidrsOf(nodes.get(node));
  const taken = new Set([...local.addresses(), ...ownAddresses()]);
  return address => !taken.has(address) && podCidrs.some(cidr => cidrContains(cidr, address));
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

function attaches({ podNetwork = 'none' }: AgentCommandOptions): boolean {
  return podNetwork !== 'none';
}

// Loaded where it is wanted only: its thread and its sockets are no part of an agent that enforces and nothing else.
async function openPods(
  { node, podNetwork = 'none' }: AgentCommandOptions,
  parts: PodNetworkNeeds,
): Promise<PodNetworkParts | undefined> {
  if (podNetwork === 'none') return undefined;
  const { openPodNetwork } = await import('./podnetwork.ts');
  return openPodNetwork(podNetwork, node, parts);
}

function requireAttach({ cniConfDir, podNetwork = 'none' }: AgentCommandOptions): void {
  if (cniConfDir !== undefined && podNetwork !== 'attach')
    throw new CommandError(
      `--cni-conf-dir ${cniConfDir} makes sluice-cni the node's network plugin, and that needs --pod-network=attach, not ${podNetwork}`,
    );
}

async function install(
  options: AgentCommandOptions,
  ready: Promise<unknown>,
  log: Logger,
  ended: AbortSignal,
): Promise<void> {
  const { cniBinDir, cniConfDir } = options;
  if (cniBinDir === undefined && cniConfDir === undefined) return;
  const { installCni } = await import('./cniinstall.ts');
  await installCni(options, ready, log, ended);
}

/** What is said of the Node in the cluster. */
function networkCondition(unavailable: NetworkError | undefined): Unavailable | undefined {
  if (unavailable === undefined) return undefined;
  const reason = unavailable.code === 'exhausted' ? 'PodAddressesExhausted' : 'PodNetworkNotReady';
  return { reason, message: `${unavailable.message}: further pods must wait, running ones stay as they are` };
}

function followConnections(features: KernelFeatures, log: Logger): LiveConnections {
  return new LiveConnections({ conntrack: features.opened(openConntrack()), ownAddresses, log });
}

/** Rules come first; but an agent that cannot get that far must be able to say so. */
async function whenInForce(keeper: StatusKeeper, stop: AbortSignal): Promise<void> {
  const waiting = new AbortController();
  const wake = () => waiting.abort();
  stop.addEventListener('abort', wake, { once: true });
  void keeper.inForce.then(wake);
  await sleep(SILENT_MS, waiting.signal);
}
