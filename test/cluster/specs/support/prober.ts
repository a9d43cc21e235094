/** Connections without end from one pod, by a process in its network namespace: what each of them met, and when. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { RunningPod } from './site.ts';

export interface ProbeOrders {
  readonly flows: readonly { readonly address: string; readonly port: number }[];
  readonly intervalMs: number;
  /** How long one may take before it counts as closed. */
  readonly limitMs: number;
}

/** One connection of the flow with that index. Times are milliseconds since 1970. */
export interface Attempt {
  readonly flow: number;
  readonly startMs: number;
  readonly tookMs: number;
  readonly open: boolean;
}

const PROCESS = fileURLToPath(new URL('./prober-process.ts', import.meta.url));

export class Prober {
  /** In the order in which they ended. */
  readonly attempts: Attempt[] = [];
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.on('message', message => {
      if (Array.isArray(message)) this.attempts.push(...(message as Attempt[]));
    });
  }

  static async start(from: RunningPod, orders: ProbeOrders): Promise<Prober> {
    const child = spawn('nsenter', ['-t', `${from.pid}`, '-n', process.execPath, PROCESS], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const prober = new Prober(child);
    child.send(orders);
    await Promise.race([once(child, 'message'), ended(child)]);
    return prober;
  }

  /** Waits until `count` connections have ended that began after this call. */
  async another(count: number): Promise<void> {
    const sinceMs = Date.now();
    const enough = Promise.withResolvers<void>();
    const look = () => {
      if (this.attempts.filter(({ startMs }) => startMs > sinceMs).length >= count) enough.resolve();
    };
    this.#child.on('message', look);
    await Promise.race([enough.promise, ended(this.#child)]);
    this.#child.off('message', look);
  }

  /** Waits for what is under way; answers all attempts. */
  async stop(): Promise<readonly Attempt[]> {
    const exit = once(this.#child, 'exit');
    this.#child.send('stop');
    await exit;
    return this.attempts;
  }

  /** Harmless to repeat. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }
}

/** `opens`: closed at first, then open, and never closed again; `closes` the other way round. */
export type Wanted = 'open' | 'closed' | 'opens' | 'closes';

/** After this a SYN that was dropped is sent again: an answer behind it says nothing of when it was first sent. */
const RESENT_MS = 1000;

/** Those of one flow that did not meet what they should have, as text. */
export function wrong(attempts: readonly Attempt[], flow: number, wanted: Wanted): string[] {
  const opensAtLast = wanted === 'open' || wanted === 'opens';
  const turns = wanted === 'opens' || wanted === 'closes';
  const mine = attempts
    .filter(attempt => attempt.flow === flow && !(turns && attempt.open && attempt.tookMs >= RESENT_MS))
    .sort((a, b) => a.startMs - b.startMs);
  const first = mine.findIndex(({ open }) => open === opensAtLast);
  if (turns && first <= 0) return [`it never ${wanted}: ${mine.length} were all the same`];
  return mine
    .slice(turns ? first : 0)
    .filter(({ open }) => open !== opensAtLast)
    .map(({ startMs, tookMs, open }) => {
      const at = new Date(startMs).toISOString();
      return `${at}: ${open ? 'open' : 'closed'} after ${Math.round(tookMs)} ms, wanted ${wanted}`;
    });
}

async function ended(child: ChildProcess): Promise<never> {
  const [code, signal] = await once(child, 'exit');
  throw new Error(`the prober has ended with ${signal ?? `exit code ${code}`}`);
}
