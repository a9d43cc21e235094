/** Facts that sockets, probes and metrics read from the machine: health, and open connections. */
import { openConnectionsOf } from '../../agent/connections/openconnections.ts';
import type { StatusKeeper } from '../../agent/status.ts';
import type { Host, Openers, Ours, Reading } from '../../kernel/host/facts.ts';
import type { MemoryLimits } from '../../kernel/host/memory.ts';
import { firstOf } from '../../lib/text/firstof.ts';
import type { Address } from '../../model/address.ts';
import { type ContestedAddress, contestedAddresses, listedByNodes } from '../../model/addressowners.ts';
import { type Cluster, isSelectable, knowsNode, type Pod } from '../../model/cluster.ts';
import { podCidrsOf } from '../../model/podcidrs.ts';
import { contestedTunnels } from '../../model/tunneladdresses.ts';
import type { Conntrack } from '../../nft/conntrack.ts';
import { flannelFacts } from '../health/flannelcheck.ts';
import { health } from '../health/health.ts';
import { isNearlyFull } from '../health/hostchecks.ts';
import type { AgentView, Identity, NodeView } from './view.ts';

/** Many may ask at the same time; the node is read at most this often. */
const FRESH_MS = 500;

export interface NodeReaders {
  readonly identity: Identity;
  readonly readHost: () => Promise<Host>;
  /** The interfaces by which the node's routes lead to these pods, and Flannel's. */
  readonly readPodLinks: (
    pods: readonly Address[],
    uplinks: readonly number[],
  ) => Promise<Pick<Ours, 'podRoutes' | 'flannelTunnels'>>;
  readonly openConntrack: () => Pick<Conntrack, 'read' | 'close'>;
  readonly memoryLimits: () => MemoryLimits;
}

export function nodeView(
  agent: Omit<AgentView, keyof NodeView>,
  { identity, readHost, readPodLinks, openConntrack, memoryLimits }: NodeReaders,
): NodeView {
  const { status, kernelFeatures, gate, dns, denials, podNetwork } = agent;
  const network = podNetwork?.network;
  const host = cached(readHost);
  const own = cached(async () => ours(status));
  const links = cached(() => readPodLinks(...podsAndUplinks(status)));
  const attached = cached(async () => network && { attached: await network.facts() });
  const openers = latestOpeners(() => openersOf(openConntrack, status.cluster, status.status().node));
  return {
    identity,
    health: async () => {
      const read = await host();
      const opened = openers(isNearlyFull(read));
      return health({
        work: status.status(),
        host: read,
        ours: {
          ...unknownNode(status),
          ...(await own()),
          ...(await links()),
          ...(await attached()),
          ...(opened && { openers: opened }),
        },
        nowMs: Date.now(),
        starts: gate.status(),
        kernel: kernelFeatures,
        dns: dns.status(),
        denied: await denials.facts(),
        memory: {
          ...memoryLimits(),
          resident: process.memoryUsage.rss(),
          pods: status.cluster.pods.size,
          policies: status.cluster.policies.size,
        },
      });
    },
    openConnections: () => openConnectionsOf(openConntrack(), status.localAddresses()),
  };
}

function cached<T>(read: () => Promise<T>): () => Promise<T> {
  let last: { readonly atMs: number; readonly value: Promise<T> } | undefined;
  return () => {
    const nowMs = performance.now();
    if (last === undefined || nowMs - last.atMs > FRESH_MS) last = { atMs: nowMs, value: read() };
    return last.value;
  };
}

function ours(status: StatusKeeper): Ours {
  const { node } = status.status();
  const { nodes, pods } = status.cluster;
  return {
    podCidrs: podCidrsOf(nodes.get(node)),
    podAddresses: status.localAddresses(),
    podNames: [...pods.values()].filter(pod => pod.node === node).map(({ name }) => name),
    contested: contestedAddresses(status.cluster, node).map(contestedText),
    contestedTunnels: [...contestedTunnels(status.cluster)].map(
      ([address, claimants]) => `${address} of ${firstOf(claimants, MOST_NAMED)}`,
    ),
    listedByNodes: listedByNodes(status.cluster),
    ...withoutPort(status.cluster, node),
    ...flannelFacts(nodes, node),
  };
}

function unknownNode(status: StatusKeeper): Pick<Ours, 'unknownNode'> {
  const { node } = status.status();
  const { cluster } = status;
  return knowsNode(cluster, node) ? {} : { unknownNode: { name: node, others: [...cluster.nodes.keys()] } };
}

function podsAndUplinks(status: StatusKeeper): [pods: readonly Address[], uplinks: readonly number[]] {
  const { node } = status.status();
  return [status.localAddresses(), status.cluster.nodes.get(node)?.links?.uplinks ?? []];
}

function withoutPort({ nodes, pods }: Cluster, node: string): Pick<Ours, 'withoutPort' | 'unknownPorts'> {
  const { podPorts: ports, bridgePorts } = nodes.get(node)?.links ?? {};
  if (ports === undefined) return {};
  const behind = new Set(ports.flatMap(({ addresses }) => addresses));
  const local = [...pods.values()].filter(pod => pod.node === node && isSelectable(pod));
  const outside = local.filter(({ addresses }) => !addresses.every(address => behind.has(address)));
  return { withoutPort: outside.map(({ key }) => key), unknownPorts: bridgePorts?.unknown ?? [] };
}

/** A node may have thousands of pods report one address. */
const MOST_NAMED = 5;

function contestedText({ address, pods: [owner, ...others] }: ContestedAddress): string {
  const text = ({ key, node }: Pod) => `${key} on ${node || 'no node'}`;
  const rest = others.length - MOST_NAMED;
  const named = others.slice(0, MOST_NAMED).map(text).join(' or ');
  return `${address}: ${text(owner!)}, and not ${named}${rest > 0 ? ` or ${rest} more` : ''}`;
}

// The pods that opened the connections in the kernel's table. All of it has to be read, so only when it is nearly full.

// A full table of 262,144 entries takes 0.3 s of CPU to read.
const OPENERS_FRESH_MS = 30_000;

/**
 * The result of the last reading, as long as the table is nearly full. If it is too old, a new reading begins. Callers
 * do not wait for that: on a node with many connections, reading takes longer than a probe may take.
 */
export function latestOpeners(
  read: () => Promise<Reading<Openers>>,
): (isNearlyFull: boolean) => Reading<Openers> | undefined {
  let last: { readonly atMs: number; found?: Reading<Openers> | undefined } | undefined;
  return isNearlyFull => {
    if (!isNearlyFull) {
      if (last !== undefined) last = { atMs: last.atMs };
      return undefined;
    }
    const nowMs = performance.now();
    if (last === undefined || nowMs - last.atMs > OPENERS_FRESH_MS) {
      const next: typeof last = { atMs: nowMs, found: last?.found };
      last = next;
      void read().then(found => {
        next.found = found;
      });
    }
    return last.found;
  };
}

/** The clients that opened most connections. Never throws. Closes the socket from which it reads. */
export async function openersOf(
  open: () => Pick<Conntrack, 'read' | 'close'>,
  cluster: Cluster,
  node: string,
): Promise<Reading<Openers>> {
  try {
    return { value: byPod(await countOpeners(open()), podsOf(cluster, node)) };
  } catch (error) {
    return { unreadable: (error as Error).message };
  }
}

/** Connections are only counted while they are read, so that no objects are made for a hundred thousand of them. */
async function countOpeners(conntrack: Pick<Conntrack, 'read' | 'close'>): Promise<Map<Address, number>> {
  const counts = new Map<Address, number>();
  try {
    await conntrack.read(
      'all',
      ({ from }) => {
        counts.set(from, (counts.get(from) ?? 0) + 1);
        return false;
      },
      () => undefined,
    );
  } finally {
    conntrack.close();
  }
  return counts;
}

function byPod(counts: ReadonlyMap<Address, number>, pods: ReadonlyMap<Address, string>): Openers {
  const entries = new Map<string, number>();
  let others = 0;
  for (const [address, count] of counts) {
    const pod = pods.get(address);
    if (pod === undefined) others += count;
    else entries.set(pod, (entries.get(pod) ?? 0) + count);
  }
  const most = [...entries].map(([pod, opened]) => ({ pod, opened })).sort((a, b) => b.opened - a.opened);
  return { pods: most, others };
}

function podsOf({ pods }: Cluster, node: string): Map<Address, string> {
  const local = [...pods.values()].filter(pod => pod.node === node && isSelectable(pod));
  return new Map(
    local.flatMap(({ key, addresses }) => addresses.map((address): [Address, string] => [address, key])),
  );
}
