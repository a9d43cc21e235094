/** A runtime whose tenant starts very many pods, again and again; each waits for its rules. */
import { setTimeout } from 'node:timers/promises';
import { FakeRuntime, type PluginConnection, sandbox } from '../fakeruntime.ts';
import { NEIGHBOUR, SERVER, TENANT } from './population.ts';

const PAUSE_MS = 500;

export class PodStartLoad {
  readonly #runtime: FakeRuntime;
  #plugin: PluginConnection | undefined;
  #stop: AbortController | undefined;
  #running: Promise<void> | undefined;

  static async listen(path: string): Promise<PodStartLoad> {
    return new PodStartLoad(await FakeRuntime.listen(path));
  }

  private constructor(runtime: FakeRuntime) {
    this.#runtime = runtime;
  }

  /** Does what containerd does after the agent has connected. */
  async takeIn(): Promise<void> {
    this.#plugin = await this.#runtime.plugin();
    await this.#plugin.takeIn([sandbox(`${NEIGHBOUR}/db`, [SERVER], { uid: `${NEIGHBOUR}-db` })]);
  }

  begin(count: number): void {
    const stop = new AbortController();
    this.#stop = stop;
    this.#running = this.#startAndStop(count, stop.signal);
    this.#running.catch(() => undefined); // the caller that awaits it gets the error
  }

  async end(): Promise<void> {
    this.#stop?.abort();
    await this.#running;
  }

  async close(): Promise<void> {
    await this.#runtime.close(this.#plugin === undefined ? [] : [this.#plugin]);
  }

  async #startAndStop(count: number, stop: AbortSignal): Promise<void> {
    for (let round = 0; !stop.aborted; round++) {
      const pods = Array.from({ length: count }, (_, i) =>
        sandbox(`${TENANT}/burst-${round}-${i}`, [`10.1.3.${i + 1}`], { labels: { app: `burst-${i}` } }),
      );
      // One after the other, as containerd does it.
      for (const pod of pods) await this.#plugin!.start(pod);
      for (const pod of pods) await this.#plugin!.stop(pod);
      await setTimeout(PAUSE_MS);
    }
  }
}
