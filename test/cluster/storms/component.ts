/** A program that runs beside the test, and can be stopped, killed and started again. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';

const PATIENCE_MS = 30_000;

export class Component {
  readonly #command: readonly string[];
  readonly #log: string;
  #child: ChildProcess | undefined;

  /** `log` is the path of the file that its output is appended to. */
  constructor(command: readonly string[], log: string) {
    this.#command = command;
    this.#log = log;
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** It is killed when this process ends, however that comes. */
  start(): void {
    const log = openSync(this.#log, 'a');
    this.#child = spawn('setpriv', ['--pdeathsig', 'KILL', ...this.#command], {
      stdio: ['ignore', log, log],
    });
    closeSync(log);
  }

  /** Until it is gone, if need be by force; harmless where it is not running. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (!this.isRunning) return;
    const ended = once(this.#child!, 'exit');
    this.#child!.kill(signal);
    const force = setTimeout(() => this.#child!.kill('SIGKILL'), PATIENCE_MS);
    await ended;
    clearTimeout(force);
  }
}
