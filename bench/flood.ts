/** bench/flood.c, compiled and running in a network namespace: more packets a second than a script can send. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Address } from '../src/model/address.ts';

export interface FloodOptions {
  /** The source, in IPv4; the first one if there are several. */
  readonly from: Address;
  /** Number of source addresses, used in turn; 1 by default. */
  readonly sources?: number;
  readonly to: Address;
  readonly perSecond: number;
  readonly seconds: number;
}

export interface SentFlood {
  readonly sent: number;
  readonly ms: number;
}

/** Answers the path of the program. */
export function compileFlood(folder: string): string {
  const program = join(folder, 'flood');
  execFileSync('cc', ['-O2', '-o', program, join(import.meta.dirname, 'flood.c')], { stdio: 'pipe' });
  return program;
}

/** Sends in the network namespace of the calling thread; each packet is an attempt of its own. */
export async function sendFlood(program: string, options: FloodOptions): Promise<SentFlood> {
  const { from, sources = 1, to, perSecond, seconds } = options;
  const words = [from, sources, to, perSecond, seconds].map(String);
  const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [said, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  if (code !== 0) throw new Error(`${program} ${words.join(' ')}: ended with ${code}`);
  const [sent, ms] = said.split(' ').map(Number);
  return { sent: sent!, ms: ms! };
}
