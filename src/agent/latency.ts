/** How long events take from being noted to being in the kernel. */
export interface Age {
  readonly ms: number;
  readonly events: number;
}

interface Batch {
  readonly atMs: number;
  events: number;
}

/** Events that are not in the kernel yet, in the order in which they came. */
export class Backlog {
  #waiting: Batch[] = [];
  #underWay: Batch[] = [];

  get size(): number {
    return [...this.#underWay, ...this.#waiting].reduce((sum, { events }) => sum + events, 0);
  }

  noted(events: number, nowMs: number): void {
    const last = this.#waiting.at(-1);
    // A storm must not grow the list: what came within the same millisecond is one entry.
    if (last !== undefined && nowMs - last.atMs < 1) last.events += events;
    else this.#waiting.push({ atMs: nowMs, events });
  }

  /** What was noted so far goes into the next batch, but for what waits for its turn since these moments. */
  take(deferredSinceMs: readonly number[] = []): void {
    const stays: Batch[] = [];
    for (const sinceMs of deferredSinceMs) {
      const batch = this.#waiting.findLast(({ atMs, events }) => atMs <= sinceMs + 1 && events > 0);
      if (batch === undefined) continue;
      batch.events--;
      stays.push({ atMs: batch.atMs, events: 1 });
    }
    this.#underWay.push(...this.#waiting.filter(({ events }) => events > 0));
    this.#waiting = stays;
  }

  /** What was taken is in the kernel. */
  arrived(nowMs: number): Age[] {
    const ages = this.#underWay.map(({ atMs, events }) => ({ ms: nowMs - atMs, events }));
    this.#underWay = [];
    return ages;
  }

  /** Age of the oldest event that is not in the kernel; 0 where there is none. */
  lagMs(nowMs: number): number {
    const oldest = this.#underWay[0] ?? this.#waiting[0];
    return oldest === undefined ? 0 : nowMs - oldest.atMs;
  }
}
