/**
 * What nodes tell in one order of time, although a node's clock may be ahead: nothing is told before it happens, so a clock
 * that says otherwise is ahead by at least that, and what its node tells is put where it came. A clock that is behind shows
 * in nothing, and puts lines nowhere but late.
 */
export class NodeClocks {
  readonly #note: (text: string) => void;
  /** By how much at least. */
  readonly #aheadMs = new Map<string, number>();
  readonly #noted = new Set<string>();

  constructor(note: (text: string) => void) {
    this.#note = note;
  }

  /** When it happened by our own clock, as far as that is known; `atMs` by the node's, `cameMs` by ours. */
  ownMs(node: string, atMs: number, cameMs: number): number {
    const aheadMs = Math.max(this.#aheadMs.get(node) ?? 0, atMs - cameMs);
    this.#aheadMs.set(node, aheadMs);
    if (aheadMs >= NOTED_MS && !this.#noted.has(node)) {
      this.#noted.add(node);
      this.#note(
        `the clock of node ${node} is ahead of this machine's by ${Math.round(aheadMs / 1_000)} s: its lines have its own time, and the place in which they came`,
      );
    }
    return atMs - aheadMs;
  }
}

/** A smaller difference moves lines within the moment in which they come. */
const NOTED_MS = 2_000;
