/** The pod network, where the agent is to attach pods itself (`--pod-network=attach`). */
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Agent } from '../agent/agent.ts';
import type { CommitBarrier } from '../agent/commitbarrier.ts';
import type { StaleConntrack } from '../agent/connections/staleconntrack.ts';
import type { StatusKeeper } from '../agent/status.ts';
import { sleep } from '../async/sleep.ts';
import type { ClusterEvent, PodKey } from '../model/cluster.ts';
import type { Flow } from '../model/flow.ts';
import type { Admission } from '../network/attach/admission.ts';
import { NamespaceHelper } from '../network/attach/helper.ts';
import { NodeLinks } from '../network/attach/nodelinks.ts';
import { PodNetwork } from '../network/attach/podnetwork.ts';
import type { CniParts } from '../network/cni/cni.ts';
import { NetworkError } from '../network/error.ts';
import { HostPorts } from '../network/hostports/hostports.ts';
import { PodTableSocket } from '../network/hostports/podtablesocket.ts';
import type { LocalPods } from '../network/sandboxes/localpods.ts';
import type { Sandbox } from '../network/sandboxes/sandbox.ts';
import { ownAddresses } from './ownaddresses.ts';

export interface PodNetworkParts extends CniParts {
  /** Looks at what a source tells. */
  follow(events: readonly ClusterEvent[]): void;
  close(): Promise<void>;
}

/** How long a pod waits for its rules; a runtime gives up after some seconds, and its next attempt waits anew. */
const PATIENCE_MS = 1500;
const POLL_MS = 10;

export interface PodNetworkNeeds {
  readonly local: LocalPods;
  readonly agent: Pick<Agent, 'note' | 'cluster'>;
  readonly keeper: StatusKeeper;
  readonly arrivals: Pick<CommitBarrier, 'inForce'>;
  /** Hears what keeps the node from taking further pods, and when nothing does any more. */
  readonly onNetworkUnavailable: (unavailable: NetworkError | undefined) => void;
  readonly old: StaleConntrack;
  readonly log: Logger;
}

/** `chained`: another plugin attaches the pods, and its result tells us of them. */
export function openPodNetwork(
  how: 'attach' | 'chained',
  node: string,
  { local, agent, keeper, arrivals, onNetworkUnavailable, old, log }: PodNetworkNeeds,
): PodNetworkParts {
  const admission = admissionTo({ local, agent, keeper, arrivals, old });
  if (how === 'chained') return { admission, follow: () => {}, close: async () => {} };
  const links = new NodeLinks();
  const helper = new NamespaceHelper();
  const table = new PodTableSocket();
  const network = new PodNetwork({
    node,
    links,
    helper,
    ports: new HostPorts(
      table,
      () => links.given(),
      wanted => forgetLed(old, wanted),
    ),
    admission,
    cluster: () => agent.cluster,
    livingPods: () => livingPods(local, keeper),
    claimed: () => local.addresses(),
    onNetworkUnavailable,
    log,
  });
  return {
    network,
    admission,
    follow: events => {
      if (events.some(({ type }) => type === 'node')) network.nodesChanged();
    },
    close: async () => {
      network.close();
      links.close();
      table.close();
      await helper.close();
    },
  };
}

function admissionTo({
  local,
  agent,
  keeper,
  arrivals,
  old,
}: Omit<PodNetworkNeeds, 'onNetworkUnavailable' | 'log'>): Admission {
  return {
    admit: async sandbox => {
      agent.note(local.started(sandbox), { urgent: true });
      const deadlineMs = performance.now() + PATIENCE_MS;
      await within(PATIENCE_MS, arrivals.inForce());
      // What is still missing is a source's to tell: nothing says when.
      while (!isProgrammed(sandbox, local, keeper)) {
        if (performance.now() > deadlineMs) throw tooLate(sandbox, local);
        await pause(POLL_MS);
      }
      await within(PATIENCE_MS, old.cleared(sandbox.addresses));
    },
    adopt: sandbox => agent.note(local.started(sandbox)),
    withdraw: id => {
      const addresses = local.addressesOf(id);
      agent.note(local.stopped(id));
      old.left(addresses);
    },
  };
}

/** What is addressed to the node's own addresses, or was before it was led on. */
function forgetLed(old: StaleConntrack, wanted: (flow: Flow) => boolean): Promise<void> {
  const own = ownAddresses();
  return old.led(flow => wanted(flow) && (flow.viaService === true || own.has(flow.to)));
}

async function within(ms: number, event: Promise<void>): Promise<void> {
  const waiting = new AbortController();
  await Promise.race([event, sleep(ms, waiting.signal)]);
  waiting.abort();
}

function isProgrammed({ key, addresses }: Sandbox, local: LocalPods, keeper: StatusKeeper): boolean {
  if (!local.knows(key)) return false;
  const found = keeper.pod(key);
  return found?.sinceMs !== undefined && addresses.every(address => found.pod.addresses.includes(address));
}

function tooLate({ key }: Sandbox, local: LocalPods): NetworkError {
  return new NetworkError(
    'unavailable',
    local.knows(key)
      ? `the rules of ${key} are not in force after ${PATIENCE_MS / 1000} s; the pod must wait for them`
      : `${key} is not known on this node after ${PATIENCE_MS / 1000} s; the pod must wait until policy can select it`,
  );
}

function livingPods(local: LocalPods, keeper: StatusKeeper): ReadonlySet<PodKey> | undefined {
  const { synced, lostSources } = keeper.status();
  return synced && lostSources.length === 0 ? local.living() : undefined;
}
