/** The pod network, where the agent is to attach pods itself (`--pod-network=attach`). */

import type { Logger } from 'pino';
import type { Agent } from '../../agent/agent.ts';
import type { CommitBarrier } from '../../agent/commitbarrier.ts';
import type { StaleConntrack } from '../../agent/connections/staleconntrack.ts';
import type { StatusKeeper } from '../../agent/status.ts';
import { ownAddresses } from '../../kernel/host/read.ts';
import { sleep } from '../../lib/async/sleep.ts';
import { type ClusterEvent, ClusterState, type PodKey } from '../../model/cluster.ts';
import type { Flow } from '../../model/flow.ts';
import type { HostPortMapping } from '../../model/hostport.ts';
import { hostPortEvents } from '../../model/hostportevents.ts';
import type { Admission } from '../../network/attach/admission.ts';
import { NamespaceHelper } from '../../network/attach/helper.ts';
import { NodeInterfaces } from '../../network/attach/nodeinterfaces.ts';
import { PodNetwork } from '../../network/attach/podnetwork.ts';
import type { CniParts } from '../../network/cni/cni.ts';
import { NetworkError } from '../../network/error.ts';
import { type HostPortState, HostPorts } from '../../network/hostports/hostports.ts';
import type { LocalPods } from '../../network/sandboxes/localpods.ts';
import type { Sandbox } from '../../network/sandboxes/sandbox.ts';

export interface PodNetworkParts extends CniParts {
  close(): Promise<void>;
}

/**
 * How long a request waits for the pod's rules; a runtime gives up after some seconds, and its next attempt waits
 * again.
 */
const PATIENCE_MS = 1500;
const POLL_MS = 10;

export interface PodNetworkNeeds {
  readonly localPods: LocalPods;
  readonly agent: Pick<Agent, 'apply' | 'cluster' | 'observe'>;
  readonly status: StatusKeeper;
  readonly barrier: Pick<CommitBarrier, 'programmed'>;
  /** Called with the reason why the node cannot take further pods, and with undefined when there is none. */
  readonly onNetworkUnavailable: (unavailable: NetworkError | undefined) => void;
  readonly staleConntrack: StaleConntrack;
  readonly log: Logger;
}

/** `chained`: another plugin attaches the pods, and we get its result. */
export function openPodNetwork(
  how: 'attach' | 'chained',
  node: string,
  needs: PodNetworkNeeds,
): PodNetworkParts {
  const hostPorts = new AgentHostPorts(needs.agent, () => programmedInTime(needs));
  const admission = admissionTo(needs, hostPorts);
  if (how === 'chained') return { admission, close: async () => {} };
  return attaching(node, needs, hostPorts, admission);
}

function attaching(
  node: string,
  needs: PodNetworkNeeds,
  hostPorts: AgentHostPorts,
  admission: Admission,
): PodNetworkParts {
  const [links, helper] = [new NodeInterfaces(), new NamespaceHelper()];
  const forget = (wanted: (flow: Flow) => boolean) => forgetRedirected(needs.staleConntrack, wanted);
  const ports = new HostPorts(hostPorts, () => links.given(), forget);
  const { localPods, agent, status, onNetworkUnavailable, log } = needs;
  const network = new PodNetwork({
    node,
    links,
    helper,
    ports,
    admission,
    cluster: () => agent.cluster,
    livingPods: () => livingPods(localPods, status),
    claimed: () => localPods.addresses(),
    unprogrammed: () => unprogrammed(status),
    onNetworkUnavailable,
    log,
  });
  follow(network, needs);
  const close = async () => {
    network.close();
    links.close();
    await helper.close();
  };
  return { network, admission, close };
}

/** Subscribes to the events that may change whether pods can be attached. */
function follow(network: PodNetwork, { agent, status }: PodNetworkNeeds): void {
  void status.firstProgrammed.then(() => network.recheck());
  agent.observe({
    noted: events => {
      if (events.some(({ type }) => type === 'node')) network.nodesChanged();
    },
  });
}

function admissionTo(
  { localPods, agent, status, barrier, staleConntrack }: PodNetworkNeeds,
  hostPorts: AgentHostPorts,
): Admission {
  return {
    admit: async sandbox => {
      hostPorts.note(localPods.started(sandbox), { urgent: true });
      const deadlineMs = performance.now() + PATIENCE_MS;
      await within(PATIENCE_MS, barrier.programmed());
      // The missing part comes from a source, at a time that is not known.
      while (!isProgrammed(sandbox, localPods, status)) {
        if (performance.now() > deadlineMs) throw tooLate(sandbox, localPods);
        await sleep(POLL_MS);
      }
      await within(PATIENCE_MS, staleConntrack.flushed(sandbox.addresses));
    },
    adopt: sandbox => agent.apply(localPods.started(sandbox)),
    withdraw: id => {
      const addresses = localPods.addressesOf(id);
      hostPorts.note(localPods.stopped(id), { urgent: false });
      staleConntrack.released(addresses);
    },
  };
}

/** Throws NetworkError if earlier events are not in the kernel in time. */
async function programmedInTime({ barrier }: PodNetworkNeeds): Promise<void> {
  if (await within(PATIENCE_MS, barrier.programmed())) return;
  throw new NetworkError(
    'unavailable',
    `the host ports are not in force after ${PATIENCE_MS / 1000} s; the pod must wait for them`,
  );
}

function unprogrammed(status: StatusKeeper): NetworkError | undefined {
  const { equalAtMs, lastError } = status.status();
  if (equalAtMs !== undefined) return undefined;
  const why = lastError === undefined ? 'none are in force yet' : lastError;
  return new NetworkError('unavailable', `no pod is attached without rules: ${why}`);
}

/**
 * Forgets connections whose packets went to the node's own addresses before they were redirected to a pod, or still do.
 */
function forgetRedirected(staleConntrack: StaleConntrack, wanted: (flow: Flow) => boolean): Promise<void> {
  const own = ownAddresses();
  return staleConntrack.redirected(flow => wanted(flow) && (flow.viaService === true || own.has(flow.to)));
}

/** Whether it happened in time. */
async function within(ms: number, event: Promise<void>): Promise<boolean> {
  const waiting = new AbortController();
  const late = sleep(ms, waiting.signal).then(() => false);
  const happened = await Promise.race([event.then(() => true), late]);
  waiting.abort();
  return happened;
}

function isProgrammed({ key, addresses }: Sandbox, localPods: LocalPods, status: StatusKeeper): boolean {
  if (!localPods.knows(key)) return false;
  const found = status.pod(key);
  return found?.sinceMs !== undefined && addresses.every(address => found.pod.addresses.includes(address));
}

function tooLate({ key }: Sandbox, localPods: LocalPods): NetworkError {
  return new NetworkError(
    'unavailable',
    localPods.knows(key)
      ? `the rules of ${key} are not in force after ${PATIENCE_MS / 1000} s; the pod must wait for them`
      : `${key} is not known on this node after ${PATIENCE_MS / 1000} s; the pod must wait until policy can select it`,
  );
}

function livingPods(localPods: LocalPods, status: StatusKeeper): ReadonlySet<PodKey> | undefined {
  const { synced, lostSources } = status.status();
  return synced && lostSources.length === 0 ? localPods.living() : undefined;
}

/**
 * Host ports as part of the agent's desired state. A change waits for the events of its pod, which follow at once, so
 * that ports and rules need only one commit of the budget.
 */
export class AgentHostPorts implements HostPortState {
  readonly programmed: () => Promise<void>;
  readonly #agent: Pick<Agent, 'apply' | 'cluster'>;
  #held: ClusterEvent[] = [];

  /** `programmed` resolves when the kernel has all earlier events, and throws if that takes too long. */
  constructor(agent: Pick<Agent, 'apply' | 'cluster'>, programmed: () => Promise<void>) {
    this.#agent = agent;
    this.programmed = programmed;
  }

  mappings(): readonly HostPortMapping[] {
    const { hostPorts = new Map<string, HostPortMapping>() } = this.#agent.cluster;
    if (this.#held.length === 0) return [...hostPorts.values()];
    const state = new ClusterState();
    for (const [key, value] of hostPorts) state.hostPorts.set(key, value);
    for (const event of this.#held) state.apply(event);
    return [...state.hostPorts.values()];
  }

  change(remove: readonly HostPortMapping[], add: readonly HostPortMapping[]): void {
    this.#held.push(...hostPortEvents(remove, add));
  }

  publish(how: { readonly urgent: boolean }): void {
    this.note([], how);
  }

  /** Applies events of pods together with the changes of host ports that wait for them. */
  note(events: readonly ClusterEvent[], how: { readonly urgent: boolean }): void {
    const held = this.#held;
    this.#held = [];
    this.#agent.apply([...held, ...events], how);
  }
}
