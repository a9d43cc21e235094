/** bench/inject.c, compiled and running in a network namespace. */
import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { Netns } from '../lab/unnamed.ts';
import { flowBytes, type UdpFlow } from './flows.ts';
import { NotMeasurable } from './notmeasurable.ts';

/** Answers the path of the program. */
export function compileInjector(folder: string): string {
  const program = join(folder, 'inject');
  try {
    execFileSync('cc', ['-O2', '-o', program, join(import.meta.dirname, '../inject.c')], { stdio: 'pipe' });
  } catch (error) {
    throw new NotMeasurable(`cc does not compile bench/inject.c: ${(error as Error).message}`, {
      cause: error,
    });
  }
  return program;
}

/** Where flows enter: a device, and its flows; their number is a power of two. */
export interface Entrance {
  readonly device: string;
  readonly flows: readonly UdpFlow[];
}

type Child = ChildProcessByStdio<Writable, Readable, null>;

export class Injector {
  readonly #child: Child;
  readonly #lines: AsyncIterator<string>;

  private constructor(child: Child) {
    this.#child = child;
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  /** `files` begins the names of the files that it leaves behind. Throws NotMeasurable. */
  static async start(
    program: string,
    netns: Netns,
    files: string,
    entrances: readonly Entrance[],
  ): Promise<Injector> {
    const args = entrances.flatMap(({ device, flows }) => {
      writeFileSync(`${files}-${device}`, flowBytes(flows));
      return [device, `${files}-${device}`];
    });
    const injector = new Injector(
      netns.run(() => spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })),
    );
    await injector.#answer();
    return injector;
  }

  /** CPU time that the kernel took for `packets` frames on the entrance of that index, in ns. Throws NotMeasurable. */
  async run(entrance: number, packets: number): Promise<number> {
    this.#child.stdin.write(`${entrance} ${packets}\n`);
    return Number(await this.#answer());
  }

  close(): void {
    this.#child.stdin.end();
  }

  async #answer(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error('bench/inject.c ended early');
    if (value.startsWith('error')) throw new NotMeasurable(value.slice('error '.length));
    return value;
  }
}
