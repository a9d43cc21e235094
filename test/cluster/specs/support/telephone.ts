/** Connections that stay open and are talked over without end: whether they end, and whether a packet of them is lost. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import { PORT, type RunningPod } from './site.ts';

export interface Call {
  /** `udp` loses what is lost: nothing sends it again. `tcp` is a connection that ends where somebody resets it. */
  readonly protocol: 'tcp' | 'udp';
  readonly address: string;
  readonly port: number;
}

/** Of one call: what was asked and answered over it, and what ended it before it was hung up. */
export interface Talk extends Call {
  readonly asked: number;
  readonly answered: number;
  readonly end?: string;
}

const ECHO_PORT = 8081;
const PROCESSES = (name: string) => fileURLToPath(new URL(`./telephone-${name}.ts`, import.meta.url));

/**
 * Talks from one pod to another over every address while `action` runs: nobody hangs up, and every packet that was sent
 * is answered.
 */
export async function uninterrupted(
  from: RunningPod,
  to: RunningPod,
  action: () => Promise<unknown>,
): Promise<void> {
  const calls = to.addresses.flatMap((address): Call[] => [
    { protocol: 'tcp', address, port: PORT },
    { protocol: 'udp', address, port: ECHO_PORT },
  ]);
  const echo = await startedIn(to, 'echo', ECHO_PORT);
  const caller = await startedIn(from, 'caller', calls);
  try {
    await action();
    const talks = await hungUp(caller);
    expect(talks.map(({ asked, ...rest }) => rest)).toEqual(
      talks.map(({ asked }, i) => ({ ...calls[i], answered: asked })),
    );
    expect(Math.min(...talks.map(({ asked }) => asked))).toBeGreaterThan(100);
  } finally {
    caller.kill('SIGKILL');
    echo.kill('SIGKILL');
  }
}

async function startedIn({ pid }: RunningPod, name: string, orders: unknown): Promise<ChildProcess> {
  const words = ['-t', `${pid}`, '-n', process.execPath, PROCESSES(name), JSON.stringify(orders)];
  const child = spawn('nsenter', words, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  expect((await once(child, 'message'))[0]).toBe('ready');
  return child;
}

async function hungUp(caller: ChildProcess): Promise<readonly Talk[]> {
  const answer = once(caller, 'message');
  caller.send('hang up');
  return (await answer)[0];
}
