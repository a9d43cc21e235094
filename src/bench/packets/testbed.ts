/** All routers of one run of the benchmark, and what they share. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { undoAtExit } from '../../lab/cleanup.ts';
import type { Flow } from './flows.ts';
import { compileInjector } from './injector.ts';
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

  /** A router that nobody has programmed yet; `flows` come to it from outside. Throws NotMeasurable. */
  async router(name: string, flows: readonly Flow[], bridged = false): Promise<Router> {
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
