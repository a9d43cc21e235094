/** All routers of one run of the benchmark, and what they share. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { undoAtExit } from '../lab/cleanup.ts';
import type { BenchRow } from '../row.ts';
import type { UdpFlow } from './flows.ts';
import { compileInjector } from './injector.ts';
import { NotMeasurable } from './notmeasurable.ts';
import { Router } from './router.ts';

export class Testbed {
  /** Takes details, a line at a time. */
  readonly log: (line: string) => void;
  readonly #folder = mkdtempSync(join(tmpdir(), 'sluice-packets-'));
  readonly #forget = undoAtExit(() => this.#removeFolder());
  readonly #routers: Router[] = [];
  #program: string | undefined;

  constructor(log: (line: string) => void) {
    this.log = log;
  }

  /** A router without rules; `flows` come to it from outside. Throws NotMeasurable. */
  async router(name: string, flows: readonly UdpFlow[], bridged = false): Promise<Router> {
    this.#program ??= compileInjector(this.#folder);
    const files = join(this.#folder, `router-${this.#routers.length}`);
    const router = await Router.make(name, { program: this.#program, files, flows, bridged });
    this.#routers.push(router);
    return router;
  }

  /** The namespaces go with the routers' last processes. */
  close(): void {
    for (const router of this.#routers) router.close();
    this.#removeFolder();
    this.#forget();
  }

  #removeFolder(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** The result of `measure`, or undefined if this machine does not allow it: then standard error says why. */
export async function onTestbed(
  verbose: boolean,
  measure: (testbed: Testbed) => Promise<BenchRow[]>,
): Promise<BenchRow[]> {
  const testbed = new Testbed(verbose ? line => console.error(line) : () => undefined);
  try {
    return await measure(testbed);
  } catch (error) {
    if (!(error instanceof NotMeasurable)) throw error;
    console.error(`The cost of packets cannot be measured here: ${error.message}`);
    return [];
  } finally {
    testbed.close();
  }
}
