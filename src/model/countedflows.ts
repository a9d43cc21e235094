/** Connections between the same ends to the same port, as one flow with their number. */
import type { Flow } from './flow.ts';

export interface CountedFlow {
  readonly flow: Flow;
  readonly count: number;
}

/** Counts equal flows: thousands of connections of a node may be one flow. */
export class FlowCounts {
  readonly #found = new Map<string, { flow: Flow; count: number }>();

  add(flow: Flow): void {
    const { from, to, protocol, port, viaService = false } = flow;
    const key = `${from} ${to} ${protocol} ${port} ${viaService}`;
    const known = this.#found.get(key);
    if (known === undefined) this.#found.set(key, { flow, count: 1 });
    else known.count++;
  }

  /** The flows with their numbers, in the order in which each flow was added first. */
  counted(): CountedFlow[] {
    return [...this.#found.values()];
  }
}
