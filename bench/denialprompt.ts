/**
 * Measures the time from a denied packet to its line at a prompt on the same node: `sluice drops --follow`, a process
 * of its own, as a person runs it. Packets come one at a time, within the limit of their source. The same through an
 * API server, where all agents of a cluster are asked, is measured by `scripts/e2e prompt`.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { DENIAL_PODS, type DenialPlace, inDenialPlace, withDenialAgent } from './denialsite.ts';
import { probe } from './lab/probe/probe.ts';
import { absolute, type BenchRow, median } from './row.ts';

const PACKETS = 40;
/** Pauses that are out of step with the agent's turns. */
const PAUSE_MS = { least: 550, more: 45 };
const LATE_MS = 5_000;
const FIRST_PORT = 3_000;

export function benchDenialPrompt(): Promise<BenchRow[]> {
  return inDenialPlace(place =>
    withDenialAgent(place, [], async () => {
      const prompt = new Prompt(place);
      try {
        const delays = await delaysMs(place, prompt);
        return [absolute(`line at the prompt, half of ${delays.length}`, 'ms', median(delays), 100)];
      } finally {
        await prompt.end();
      }
    }),
  );
}

async function delaysMs({ lab }: DenialPlace, prompt: Prompt): Promise<number[]> {
  const { neighbour: from, db: to } = DENIAL_PODS;
  const delays: number[] = [];
  const one = async (port: number) => {
    const sentMs = performance.now();
    const tried = probe(lab, [{ from, to, protocol: 'UDP', port }], { quietMs: 100 });
    const delay = (await prompt.lineOf(port)) - sentMs;
    await tried;
    await setTimeout(PAUSE_MS.least + Math.random() * PAUSE_MS.more);
    return delay;
  };
  await one(FIRST_PORT); // until it has started
  for (let port = FIRST_PORT + 1; port <= FIRST_PORT + PACKETS; port++) delays.push(await one(port));
  return delays;
}

/** The ports for which a line came, and when. */
class Prompt {
  readonly #child: ChildProcessByStdio<null, Readable, null>;
  readonly #cameMs = new Map<number, number>();

  constructor({ dist, socket }: DenialPlace) {
    const words = ['drops', '--follow', '-o', 'json', '--socket', socket];
    this.#child = spawn(process.execPath, [join(dist, 'cli/sluice.js'), ...words], {
      stdio: ['ignore', 'pipe', 'ignore'], // it says that there are no Services here
    });
    createInterface(this.#child.stdout).on('line', line => {
      this.#cameMs.set(JSON.parse(line).port, performance.now());
    });
  }

  /** When the line for a port came. Throws if it does not come. */
  async lineOf(port: number): Promise<number> {
    for (const deadline = performance.now() + LATE_MS; performance.now() < deadline; await setTimeout(5)) {
      const cameMs = this.#cameMs.get(port);
      if (cameMs !== undefined) return cameMs;
    }
    throw new Error(`no line of the packet to port ${port} in ${LATE_MS} ms`);
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGTERM');
    await once(this.#child, 'exit');
  }
}
