/** The site of packets with `sluice agent` on its node, reading manifests: what tests of its answers are about. */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll } from 'vitest';
import type { Lab } from '../../../bench/lab/lab.ts';
import type { AgentClient } from '../../../src/api/rpc/client.ts';
import type { Labels } from '../../../src/model/selector.ts';
import { clientOf } from '../agent/agentclient.ts';
import { AgentProcess } from '../agent/agentprocess.ts';
import { buildSite, HOSTS, NODE } from './site.ts';

export class AgentSite {
  lab!: Lab;
  folder!: string;
  readonly #closers: (() => unknown)[] = [];

  /** Outside of tests: the site is built before those of the file, and removed behind them. */
  constructor(prefix: string) {
    beforeAll(async () => {
      this.lab = await buildSite(prefix);
      this.folder = mkdtempSync(join(tmpdir(), `sluice-${prefix}-`));
    });
    afterEach(async () => {
      for (const close of this.#closers.splice(0).reverse()) await close();
    });
    afterAll(() => {
      this.lab?.remove();
      if (this.folder !== undefined) rmSync(this.folder, { recursive: true });
    });
  }

  /** The socket of the agents, of which one runs at a time. */
  get socket(): string {
    return join(this.folder, 'sluice.sock');
  }

  get manifests(): string {
    return join(this.folder, 'cluster.json');
  }

  /** Replaces the manifests that agents read, all at once. */
  write(...items: readonly object[]): void {
    const list = { apiVersion: 'v1', kind: 'List', items };
    writeFileSync(`${this.folder}/next`, JSON.stringify(list));
    renameSync(`${this.folder}/next`, this.manifests);
  }

  /** Closes things when the running test has ended, the latest first. */
  closeAfter(close: () => unknown): void {
    this.#closers.push(close);
  }

  /** One whose rules are in force. */
  async agent(...options: readonly string[]): Promise<AgentProcess> {
    const words = ['--manifests', this.manifests, '--socket', this.socket, ...options];
    const agent = new AgentProcess(this.lab.nodeNamespace(NODE), NODE, words);
    this.closeAfter(() => agent.kill());
    await agent.inForce();
    return agent;
  }

  /** Connects as soon as the agent serves. */
  async client(): Promise<AgentClient> {
    const client = await clientOf(this.socket);
    this.closeAfter(() => client.close());
    return client;
  }
}

/** The site as manifests: its node, its namespace and its pods, with what `labels` adds to those of a pod's name. */
export function siteObjects(labels: (name: string) => Labels = () => ({})): object[] {
  return [
    { apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } },
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'probe' } },
    ...Object.entries(HOSTS).map(([name, addresses]) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'probe', labels: { name, ...labels(name) } },
      spec: { nodeName: NODE, containers: [{ name: 'main', image: 'i' }] },
      status: { phase: 'Running', podIPs: addresses.map(ip => ({ ip })) },
    })),
  ];
}

/** A NetworkPolicy for `probe/t`. */
export function sitePolicy(name: string, spec: object, annotations: Labels = {}): object {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name, namespace: 'probe', annotations },
    spec: { podSelector: { matchLabels: { name: 't' } }, ...spec },
  };
}
