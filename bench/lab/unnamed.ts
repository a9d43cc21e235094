/** Network namespaces that vanish with their last user: nothing to clean up, even after a crash. */
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import koffi from 'koffi';

const libc = koffi.load(null);
const unshare = libc.func('int unshare(int flags)');
const setns = libc.func('int setns(int fd, int type)');
const CLONE_NEWNET = 0x40000000;

export class Netns {
  readonly #fd: number;

  /** A new one, with nothing in it. */
  constructor() {
    const home = openOwn();
    if (unshare(CLONE_NEWNET) !== 0) throw new Error(`unshare: errno ${koffi.errno()} (root is needed)`);
    this.#fd = openOwn();
    enter(home);
    closeSync(home);
  }

  /** Leads there as long as it is open, in this process. */
  get path(): string {
    return `/proc/self/fd/${this.#fd}`;
  }

  /** Runs `work` inside. A socket that it opens stays inside; so does a process that it starts. */
  run<T>(work: () => T): T {
    const home = openOwn();
    enter(this.#fd);
    try {
      return work();
    } finally {
      enter(home);
      closeSync(home);
    }
  }

  /** The output of a program that runs inside. */
  exec(command: string, args: readonly string[], input?: string): string {
    const result: SpawnSyncReturns<string> = this.run(() =>
      spawnSync(command, args, {
        encoding: 'utf8',
        maxBuffer: 1 << 28,
        ...(input !== undefined && { input }),
      }),
    );
    if (result.status !== 0)
      throw new Error(`${command} ${args.join(' ')}: ${result.error ?? result.stderr}${result.signal ?? ''}`);
    return result.stdout;
  }

  close(): void {
    closeSync(this.#fd);
  }
}

// The namespace belongs to the thread; the main thread of the process may be in another.
function openOwn(): number {
  return openSync('/proc/thread-self/ns/net', 'r');
}

function enter(fd: number): void {
  if (setns(fd, CLONE_NEWNET) !== 0) throw new Error(`setns: errno ${koffi.errno()}`);
}
