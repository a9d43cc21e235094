/** `sluice agent` as a node runs it: a process of its own in the network namespace of a node. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { inNamespace } from '../../../bench/lab/netns.ts';
import { MAIN } from './sluice.ts';

// Longer on an emulated machine, where the start is slow (scripts/vm).
const DEADLINE_MS = 180_000 * Number(process.env.SLUICE_SLOW ?? 1);

/** If SLUICE_SYSCALLS names a folder, the agent's system calls are counted there: scripts/seccomp. */
const TRACER = process.env.SLUICE_SYSCALLS
  ? [
      'strace',
      '-D',
      '-f',
      '-c',
      '-U',
      'name',
      '-o',
      `${process.env.SLUICE_SYSCALLS}/agent-${process.pid}-${randomUUID()}`,
    ]
  : [];

export class AgentProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  output = '';

  /** `options` say what to follow, and where to serve; without a word it serves nowhere. */
  constructor(namespace: string, node: string, options: readonly string[], main = MAIN) {
    const silent = ['--log-format', 'json', '--socket', 'none', '--metrics-address', 'none'];
    const args = [main, 'agent', '--node', node, ...silent, ...options];
    const [program, ...words] = [...TRACER, process.execPath, ...args] as [string, ...string[]];
    this.#child = inNamespace(namespace, () => spawn(program, words));
    this.#ended = once(this.#child, 'close');
    for (const stream of [this.#child.stdout!, this.#child.stderr!])
      stream.setEncoding('utf8').on('data', text => {
        this.output += text;
      });
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** Waits until the log has said this often that rules are in force. */
  async inForce(times = 1): Promise<void> {
    for (const deadline = Date.now() + DEADLINE_MS; this.#commits() < times; await setTimeout(2))
      if (Date.now() > deadline || this.#child.exitCode !== null)
        throw new Error(`no rules in force: ${this.output}`);
  }

  /** Waits until the process ends by itself. */
  async end(): Promise<{ code: number | null; output: string }> {
    await this.#ended;
    return { code: this.#child.exitCode, output: this.output };
  }

  /** Kills the process, whatever it is doing. Afterwards the process is gone and its socket is closed. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.#child.kill(signal);
    await this.#ended;
  }

  #commits(): number {
    return this.output.match(/"msg":"rules (in force|follow)/g)?.length ?? 0;
  }
}
