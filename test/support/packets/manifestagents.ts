/** An agent on each node of a laboratory, all of which read the same manifests. */
import { join } from 'node:path';
import type { Lab } from '../../../bench/lab/lab.ts';
import type { AgentClient } from '../../../src/api/rpc/client.ts';
import { clientOf } from '../agent/agentclient.ts';
import { AgentProcess } from '../agent/agentprocess.ts';

export class ManifestAgents {
  readonly #lab: Lab;
  readonly #folder: string;
  #running: readonly AgentProcess[] = [];
  clients: readonly AgentClient[] = [];

  /** The sockets of the agents are in the folder. */
  constructor(lab: Lab, folder: string) {
    this.#lab = lab;
    this.#folder = folder;
  }

  /** Replaces the agents by others, and waits until their rules are in force. */
  async follow(manifests: string): Promise<void> {
    await this.kill();
    const started = this.#lab.topology.nodes.map(({ name }) => {
      const socket = join(this.#folder, `${name}.sock`);
      const named = ['--denials', '10000', '--log-denials', 'none'];
      const words = ['--manifests', manifests, '--socket', socket, ...named];
      return { socket, agent: new AgentProcess(this.#lab.nodeNamespace(name), name, words) };
    });
    this.#running = started.map(({ agent }) => agent);
    await Promise.all(this.#running.map(agent => agent.inForce()));
    this.clients = await Promise.all(started.map(({ socket }) => clientOf(socket)));
  }

  async kill(): Promise<void> {
    for (const client of this.clients) client.close();
    this.clients = [];
    for (const agent of this.#running) await agent.kill();
    this.#running = [];
  }
}
