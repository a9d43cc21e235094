/**
 * A control plane, a node with real pods, and agents on that node that read the API server through a saboteur.
 * Everything is in network namespaces of its own; this thread stays in that of the control plane.
 *
 *     probe/x ─┐
 *     probe/t ─┼─ n1: the agent ── saboteur ── API server ── etcd
 *     doomed/d ┘
 */

import { deepStrictEqual } from 'node:assert';
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { parse } from 'yaml';
import { undoAtExit } from '../../../bench/lab/cleanup.ts';
import { buildLab, type Lab, sweepLabs } from '../../../bench/lab/lab.ts';
import { enterNetworkNamespace } from '../../../bench/lab/libc.ts';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { address } from '../../../bench/lab/topology.ts';
import { desiredAsProgrammed } from '../../../src/answers/readback/desired.ts';
import { connectAgent } from '../../../src/api/rpc/client.ts';
import type { StatusResponse } from '../../../src/api/rpc/messages.ts';
import { openNftKernel } from '../../../src/kernel/netlink/nftables/nft-kernel.ts';
import type { Generation, Kernel } from '../../../src/nft/kernel.ts';
import { opText } from '../../../src/nft/plan/op.ts';
import { plan } from '../../../src/nft/plan/plan.ts';
import type { Ruleset } from '../../../src/nft/ruleset.ts';
import { AgentProcess } from '../../support/agent/agentprocess.ts';
import { withoutSizes } from '../../support/oracle/withoutsizes.ts';
import { Prober } from '../../support/packets/prober.ts';
import { until } from '../../support/until.ts';
import type { Api, Manifest } from './api.ts';
import { ControlPlane, SERVER } from './controlplane.ts';
import { FIRM_FLOWS, firmObjects, HOSTS, NODE, wrongPackets } from './firm.ts';
import { readCluster } from './oracle.ts';
import { Saboteur } from './saboteur.ts';

const CALM_MS = 60_000;
const NODE_ADDRESSES = ['172.18.0.11', 'fd00:18::11'].map(address);
const DAEMONSET = join(import.meta.dirname, '../../../daemonset/base');
const TOKEN_PATH = '/api/v1/namespaces/sluice/serviceaccounts/sluice/token';

export interface AgentOptions {
  /** What node runs; this checkout's sources where it is left out. */
  readonly main?: string;
  readonly options?: readonly string[];
}

export class Storm {
  readonly plane: ControlPlane;
  readonly saboteur: Saboteur;
  readonly #lab: Lab;
  readonly #folder: string;
  readonly #kernel: Kernel;
  readonly #agents: AgentProcess[] = [];
  #prober: Prober | undefined;

  /** The agent's permissions are those of daemonset/, and the firm objects are there. */
  static async begin(): Promise<Storm> {
    sweepLabs();
    const pods = Object.entries(HOSTS).map(([name, addresses]) => ({ name, node: NODE, addresses }));
    const nodes = [{ name: NODE, addresses: NODE_ADDRESSES }];
    const lab = await buildLab({ nodes, pods, outside: [address(SERVER.address)] });
    enterNetworkNamespace(openSync(lab.namespaceOf(address(SERVER.address)), 'r'));
    const folder = mkdtempSync(join(tmpdir(), 'sluice-storm-'));
    undoAtExit(() => rmSync(folder, { recursive: true, force: true }));
    const plane = await ControlPlane.start(folder);
    const kernel = await inNamespace(lab.nodeNamespace(NODE), () => openNftKernel());
    const storm = new Storm(lab, folder, plane, await Saboteur.start(), kernel);
    await storm.#prepare();
    return storm;
  }

  private constructor(lab: Lab, folder: string, plane: ControlPlane, saboteur: Saboteur, kernel: Kernel) {
    this.#lab = lab;
    this.#folder = folder;
    this.plane = plane;
    this.saboteur = saboteur;
    this.#kernel = kernel;
  }

  get api(): Api {
    return this.plane.api;
  }

  /** The token by which the agent shows who it is; read anew by it when one is refused. */
  set token(token: string) {
    writeFileSync(this.#tokenFile, token);
  }

  async newToken(): Promise<string> {
    const { body } = await this.api.try('POST', TOKEN_PATH, { spec: { expirationSeconds: 7200 } });
    return (body as { status: { token: string } }).status.token;
  }

  /** On the node. A later one takes over from one that was killed. */
  startAgent({ main, options = [] }: AgentOptions = {}): AgentProcess {
    const all = ['--kubeconfig', this.#kubeconfig, '--socket', this.#socket, ...options];
    const agent = new AgentProcess(this.#lab.nodeNamespace(NODE), NODE, all, main);
    this.#agents.push(agent);
    return agent;
  }

  /** What `sluice status` shows; undefined while nobody answers. */
  async status(): Promise<StatusResponse | undefined> {
    const client = connectAgent(this.#socket);
    const status = await client.status().catch(() => undefined);
    client.close();
    return status;
  }

  /** Real packets, until `stopProbing`. */
  async startProbing(): Promise<void> {
    this.#prober = await Prober.start(this.#lab, FIRM_FLOWS);
  }

  /** Packets since `startProbing` that were judged otherwise than the firm policies say, in words. */
  async stopProbing(): Promise<string[]> {
    await this.#prober!.more(500);
    const trails = await this.#prober!.stop();
    this.#prober = undefined;
    return wrongPackets(trails);
  }

  /** Changes with every commit on the node. */
  generation(): Promise<Generation> {
    return this.#kernel.generation();
  }

  /** Without what packets have put into sets. */
  async programmed(): Promise<Ruleset> {
    return withoutSizes((await this.#kernel.dump()).ruleset);
  }

  /** Cuts the agent off until it has found that it may not read that source; answers what is programmed. */
  async refused(source: string): Promise<Ruleset> {
    // For some seconds the server may remember that it was good.
    const isTold = async () => {
      this.saboteur.cutAll();
      await setTimeout(1000);
      return (await this.#lostSources()).includes(source);
    };
    await until(`the agent says that it cannot read ${source}`, isTold);
    return this.programmed();
  }

  /** Until what is programmed is what its agent should make of what the API server says now. */
  async calm(withinMs = CALM_MS): Promise<void> {
    for (const deadline = Date.now() + withinMs; ; await setTimeout(100)) {
      const cluster = await readCluster(this.api);
      const programmed = await this.programmed();
      const rules = {
        cluster,
        node: NODE,
        queue: this.#kernel.queue,
        unknownPods: 'allow',
        podLinks: 'others',
      } as const;
      const desired = desiredAsProgrammed(programmed, rules);
      const missing = plan(programmed, desired);
      if (missing.length === 0) {
        deepStrictEqual(programmed, desired);
        return;
      }
      if (Date.now() > deadline) throw new Error(this.#unrest(missing.map(opText)));
    }
  }

  /** How the agent that was started last ended up. */
  get lastOutput(): string {
    return this.#agents.at(-1)?.output ?? '';
  }

  async end(): Promise<void> {
    this.#prober?.kill();
    for (const agent of this.#agents) await agent.kill();
    await this.saboteur.close();
    this.#kernel.close();
    this.api.close();
    await this.plane.end();
    this.#lab.remove();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #lostSources(): Promise<string> {
    const check = (await this.status())?.checks.find(({ name }) => name === 'last-event');
    return check?.state === 'warn' ? check.reason : '';
  }

  async #prepare(): Promise<void> {
    for (const name of ['namespace', 'serviceaccount', 'clusterrole', 'clusterrolebinding'])
      await this.api.apply(parse(readFileSync(join(DAEMONSET, `${name}.yaml`), 'utf8')) as Manifest);
    for (const object of firmObjects()) await this.api.apply(object);
    this.token = await this.newToken();
    writeFileSync(this.#kubeconfig, JSON.stringify(this.#access()));
  }

  #access(): object {
    const server = `https://${SERVER.address}:${this.saboteur.port}`;
    const ca = join(this.#folder, 'pki/ca.crt');
    return {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster: { server, 'certificate-authority': ca } }],
      users: [{ name: 'u', user: { tokenFile: this.#tokenFile } }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'c',
    };
  }

  #unrest(missing: readonly string[]): string {
    const said = this.lastOutput.trim().split('\n').slice(-15);
    return ['the rules are not what the API server says; missing:', ...missing.slice(0, 20), ...said].join(
      '\n',
    );
  }

  get #tokenFile(): string {
    return join(this.#folder, 'token');
  }

  get #kubeconfig(): string {
    return join(this.#folder, 'agent.conf');
  }

  get #socket(): string {
    mkdirSync(join(this.#folder, 'run'), { recursive: true, mode: 0o700 });
    return join(this.#folder, 'run/sluice.sock');
  }
}
