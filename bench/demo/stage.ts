/** The parts of a running demo: a laboratory, a copy of the example, and one real agent for each node. */

import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { desiredAsProgrammed } from '../../src/answers/readback/desired.ts';
import { loadManifests } from '../../src/cli/sources/manifests.ts';
import { queuesAnswers } from '../../src/compiler/namespeers.ts';
import { openNftKernel } from '../../src/kernel/netlink/nftables/nft-kernel.ts';
import type { Address } from '../../src/model/address.ts';
import type { ClusterState, PodKey } from '../../src/model/cluster.ts';
import type { Problem } from '../../src/model/problem.ts';
import type { Kernel } from '../../src/nft/kernel.ts';
import { plan } from '../../src/nft/plan/plan.ts';
import { CommandError } from '../../src/terminal/commanderror.ts';
import { isAlive } from '../lab/alive.ts';
import { undoAtExit } from '../lab/cleanup.ts';
import { forgetConnections } from '../lab/conntrack.ts';
import { attachLab, buildLab, type Lab, removeNamespaces } from '../lab/lab.ts';
import { inNamespace } from '../lab/netns.ts';
import { installServices } from '../lab/services.ts';
import { type Topology, topologyOf } from '../lab/topology.ts';
import { agentFailure, type DemoAgent, startAgent, stopAgent } from './agents.ts';
import { type Board, boardOf, INTERNET_PARTY, METADATA } from './board.ts';
import { MAIL_HOSTS } from './mailhosts.ts';
import { type KubeService, readServices, translations } from './service.ts';
import { forgetState, readDemoState, writeState } from './state.ts';

/** Everything of the demo is found, and removed, by these two names. */
export const PREFIX = 'sluice-demo';
export const HOME = '/run/sluice-demo';
export const MANIFESTS = join(HOME, 'manifests');

const EXAMPLE = fileURLToPath(new URL('../../examples/shop', import.meta.url));
const OUTSIDE: readonly Address[] = [...INTERNET_PARTY.addresses, ...METADATA.addresses, ...MAIL_HOSTS];
/** The pod that answers names. */
const RESOLVER: PodKey = 'kube-system/coredns';

export class Stage {
  readonly lab: Lab;
  readonly #services: readonly KubeService[];
  readonly #kernels: ReadonlyMap<string, Kernel>;
  #agents: readonly DemoAgent[] = [];
  /** Process ids of the agents of an earlier demo, in the order of its nodes. */
  #attached: readonly number[] = [];

  private constructor(lab: Lab, services: readonly KubeService[], kernels: ReadonlyMap<string, Kernel>) {
    this.lab = lab;
    this.#services = services;
    this.#kernels = kernels;
  }

  /** Builds the laboratory from a fresh copy of the example; nothing is enforced yet. */
  static async build(): Promise<Stage> {
    mkdirSync(HOME, { recursive: true });
    callOffRemoval = undoAtExit(removeStage);
    writeState({ demo: process.pid, agents: [] });
    cpSync(EXAMPLE, MANIFESTS, { recursive: true });
    const { cluster } = await loadManifests(MANIFESTS);
    const topology = topologyOf(cluster, OUTSIDE);
    const services = await readServices(MANIFESTS, cluster);
    const lab = await buildLab(topology, { prefix: PREFIX });
    installServices(lab, translations(services));
    return new Stage(lab, services, await openKernels(lab, topology));
  }

  /** The one that an earlier demo left running. */
  static async attach(): Promise<Stage> {
    const state = readDemoState();
    if (state === undefined) throw new CommandError('no demo is running: `scripts/demo --keep` leaves one');
    if (!existsSync(MANIFESTS))
      throw new CommandError(
        `${MANIFESTS} is gone, and the agents keep its last version: \`scripts/demo --keep\` starts anew`,
      );
    const { cluster } = await loadManifests(MANIFESTS);
    const topology = topologyOf(cluster, OUTSIDE);
    const lab = attachLab(topology, PREFIX);
    // Conntrack remembers what the earlier process tried, from the same ports: its answers would still pass.
    for (const { name } of topology.nodes) forgetConnections(lab.nodeNamespace(name));
    const stage = new Stage(lab, await readServices(MANIFESTS, cluster), await openKernels(lab, topology));
    stage.#attached = state.agents;
    return stage;
  }

  /** Starts the agents, and waits until they have put everything in force. */
  async start(): Promise<void> {
    const resolvers = (await this.cluster()).pods.get(RESOLVER)?.addresses ?? [];
    this.#agents = this.lab.topology.nodes.map(({ name }) =>
      startAgent(name, this.lab.nodeNamespace(name), MANIFESTS, HOME, resolvers),
    );
    writeState({ demo: process.pid, agents: this.#agents.map(({ pid }) => pid) });
    await this.settle();
  }

  /** Whether DNS answers can be read here. */
  get readsDns(): boolean {
    return [...this.#kernels.values()].every(({ queue }) => queue !== undefined);
  }

  /** Waits until a node's agent reads DNS answers. */
  async readingAnswers(node: string): Promise<void> {
    const kernel = this.#kernels.get(node)!;
    for (const deadline = Date.now() + SETTLE_MS; !queuesAnswers((await kernel.dump()).ruleset); )
      if (Date.now() > deadline)
        throw new CommandError(`${node}: DNS answers are not read; see ${HOME}/${node}.log`);
      else await new Promise(resolve => setTimeout(resolve, 20));
  }

  /** The cluster that the manifests describe now. */
  async cluster(): Promise<ClusterState> {
    return (await loadManifests(MANIFESTS)).cluster;
  }

  /** The problems of the manifests, which a person may have edited. */
  async problems(): Promise<readonly Problem[]> {
    return (await loadManifests(MANIFESTS)).problems;
  }

  async board(): Promise<Board> {
    return boardOf(await this.cluster(), this.#services);
  }

  /** Waits until every node's kernel has the rules of the manifests, without asking the agents. */
  async settle(): Promise<void> {
    const cluster = await this.cluster();
    const deadline = Date.now() + SETTLE_MS;
    for (const [node, kernel] of this.#kernels)
      while (!(await isProgrammed(kernel, cluster, node))) {
        const failure = this.#agents.map(agentFailure).find(text => text !== undefined) ?? this.#gone(node);
        if (failure !== undefined) throw new CommandError(failure);
        if (Date.now() > deadline)
          throw new CommandError(
            `${node}: rules not in force after ${SETTLE_MS / 1000} s; see ${HOME}/${node}.log`,
          );
        await new Promise(resolve => setTimeout(resolve, 1));
      }
  }

  #gone(node: string): string | undefined {
    const pid = this.#attached[this.lab.topology.nodes.findIndex(({ name }) => name === node)];
    if (pid === undefined || isAlive(pid)) return undefined;
    return `the agent of ${node} has ended, and its rules stay as they were: \`scripts/demo --remove\`, then --keep, starts anew; see ${HOME}/${node}.log`;
  }

  /** Lets go of the kernels; everything goes on. */
  close(): void {
    for (const kernel of this.#kernels.values()) kernel.close();
  }

  /** Leaves everything running when this process ends. */
  keep(): void {
    this.lab.keep();
    callOffRemoval();
    writeState({ agents: this.#agents.map(({ pid }) => pid) });
  }
}

const SETTLE_MS = 60_000;

let callOffRemoval = () => {};

/** Takes away everything that a demo made, this one or an earlier. Answers whether there was anything. */
export function removeStage(): boolean {
  callOffRemoval();
  const state = readDemoState();
  for (const pid of state?.agents ?? []) stopAgent(pid, MANIFESTS);
  removeNamespaces(PREFIX);
  forgetState();
  rmSync(HOME, { recursive: true, force: true });
  return state !== undefined;
}

/** Whether there is a demo that `--keep` left, and that a person may have edited since. */
export function isKept(): boolean {
  const state = readDemoState();
  return state !== undefined && state.demo === undefined;
}

/** The demo process that is running now, beside this one. */
export function runningDemo(): number | undefined {
  const demo = readDemoState()?.demo;
  return demo !== undefined && demo !== process.pid && isAlive(demo) ? demo : undefined;
}

async function openKernels({ nodeNamespace }: Lab, { nodes }: Topology): Promise<Map<string, Kernel>> {
  const kernels = new Map<string, Kernel>();
  for (const { name } of nodes)
    kernels.set(name, await inNamespace(nodeNamespace(name), () => openNftKernel()));
  return kernels;
}

async function isProgrammed(kernel: Kernel, cluster: ClusterState, node: string): Promise<boolean> {
  const { ruleset } = await kernel.dump();
  const { queue } = kernel;
  const rules = { cluster, node, queue, unknownPods: 'allow', podLinks: 'others' } as const;
  return plan(ruleset, desiredAsProgrammed(ruleset, rules)).length === 0;
}
