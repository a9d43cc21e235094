/**
 * The routes that Sluice made, as they are in the kernel. At thousands of nodes to read them is most of what an idle
 * agent would do, so they are read again only after something of the node's network has changed, and after some minutes
 * in any case.
 */
import type { Route } from '../../kernel/netlink/route/rtnetlink.ts';

const KEPT_MS = 300_000;

export interface RouteTableOptions {
  readonly dump: () => Promise<readonly Route[]>;
  /** Whether anything has changed since it was last asked. */
  readonly hasChanged: () => boolean;
  readonly now?: () => number;
}

export class RouteTable {
  readonly #options: Required<RouteTableOptions>;
  #kept: { readonly routes: Promise<readonly Route[]>; readonly untilMs: number } | undefined;

  constructor(options: RouteTableOptions) {
    this.#options = { now: () => performance.now(), ...options };
  }

  /** With all that was done before the call. The same array as before says that nothing has changed. */
  async routes(): Promise<readonly Route[]> {
    const { dump, hasChanged, now } = this.#options;
    // Asked in any case: what has changed by now is in what is read now.
    if (hasChanged() || this.#kept === undefined || this.#kept.untilMs <= now()) {
      const kept = { routes: dump(), untilMs: now() + KEPT_MS };
      this.#kept = kept;
      kept.routes.catch(() => {
        if (this.#kept === kept) this.#kept = undefined;
      });
    }
    return this.#kept.routes;
  }
}
