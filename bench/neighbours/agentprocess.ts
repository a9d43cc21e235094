/** `sluice agent` as it is built and run, in a network namespace of its own, and what it costs the machine. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { Netns } from '../lab/unnamed.ts';

const START_PATIENCE_MS = 60_000;

/** What the options of the DaemonSet come to under its memory limit: three quarters of 512 MiB. */
const NODE_OPTIONS = '--max-old-space-size=384 --max-semi-space-size=4';

export class BenchAgent {
  readonly #child: ChildProcess;
  #output = '';

  /** Only one whose turns are `timed` can be asked for the longest of them: who looks each millisecond takes 2 % of a core. */
  constructor(dist: string, netns: Pick<Netns, 'run'>, options: readonly string[], turns?: 'timed') {
    const silent = ['--log-format', 'json', '--socket', 'none', '--metrics-address', 'none'];
    const probe = pathToFileURL(join(dist, 'bench/bench/neighbours/holdprobe.js')).href;
    const command = join(dist, 'cli/sluice.js');
    this.#child = netns.run(() =>
      fork(command, ['agent', ...silent, ...options], {
        execArgv: turns === 'timed' ? ['--import', probe] : [],
        env: { ...process.env, NODE_OPTIONS },
        stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      }),
    );
    this.#child.stdout!.setEncoding('utf8').on('data', text => {
      this.#output = (this.#output + text).slice(-20_000);
    });
  }

  async programmed(): Promise<void> {
    for (const deadline = Date.now() + START_PATIENCE_MS; !this.#output.includes('rules in force'); ) {
      if (!this.isAlive || Date.now() > deadline) throw new Error(`no rules in force: ${this.#output}`);
      await setTimeout(20);
    }
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** The end of what it said. */
  get output(): string {
    return this.#output;
  }

  /** CPU milliseconds of the longest turn of its event loop since the last time; of a timed one. */
  async longestTurnMs(): Promise<number> {
    this.#child.send('how long?');
    const [longestMs] = (await once(this.#child, 'message')) as [number];
    return longestMs;
  }

  /** The most memory that it had, in MB. */
  peakMb(): number {
    return this.#sizeMb('VmHWM');
  }

  /** Its resident memory now. */
  residentMb(): number {
    return this.#sizeMb('VmRSS');
  }

  /** CPU time of all its threads that live, in µs (proc(5), schedstat). */
  cpuUs(): number {
    const folder = `/proc/${this.#child.pid}/task`;
    const times = readdirSync(folder).map(task => readFileSync(join(folder, task, 'schedstat'), 'utf8'));
    return times.reduce((sum, text) => sum + Number(text.split(' ')[0]), 0) / 1_000;
  }

  #sizeMb(field: 'VmHWM' | 'VmRSS'): number {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8');
    return (Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)![1]) * 1024) / 1e6;
  }

  async end(): Promise<void> {
    if (!this.isAlive) return;
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }
}
