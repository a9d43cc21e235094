/** The API server's process, as the measuring process sees it. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { kubeconfigOf } from '../kubeconfig.ts';
import type { Netns } from '../lab/unnamed.ts';
import type { ApiCommand, Done } from './apiprocess.ts';

export class ApiProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<never>;

  constructor(dist: string, netns: Netns) {
    const program = join(dist, 'bench/bench/neighbours/apiprocess.js');
    this.#child = netns.run(() => fork(program, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }));
    this.#ended = once(this.#child, 'exit').then(() => {
      throw new Error('the API server of the benchmark has ended');
    });
    this.#ended.catch(() => undefined);
  }

  /** One at a time. Answers the moment at which the server began with it. */
  async tell(command: ApiCommand): Promise<bigint> {
    return BigInt((await this.#ask(command)).atNs);
  }

  async kubeconfig(): Promise<string> {
    const { server } = await this.#ask({ do: 'peace' });
    return kubeconfigOf(server);
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }

  async #ask(command: ApiCommand): Promise<Done> {
    const answer = once(this.#child, 'message') as Promise<[Done]>;
    this.#child.send(command);
    return (await Promise.race([answer, this.#ended]))[0];
  }
}
