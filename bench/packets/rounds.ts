/**
 * Measures several routers at once: every round asks each of them, in random order, so that other work of the machine
 * affects all alike, and values that are compared were measured moments apart.
 */
import { median } from '../row.ts';
import { type INSIDE, OUTSIDE, type Router } from './router.ts';

export interface Plan {
  readonly rounds: number;
  /** Per router and round. */
  readonly packets: number;
  /** No further round begins after that time, on a machine that is busy. */
  readonly seconds: number;
}

/** The time of each router in ns per packet, one value a round. */
export class Rounds {
  readonly #times: ReadonlyMap<Router, readonly number[]>;

  constructor(times: ReadonlyMap<Router, readonly number[]>) {
    this.#times = times;
  }

  cost(router: Router): Spread {
    return spread(this.#times.get(router)!);
  }

  get routers(): Iterable<Router> {
    return this.#times.keys();
  }

  /** The time of `router` beyond that of `floor`, round by round. */
  added(router: Router, floor: Router): Spread {
    const floors = this.#times.get(floor)!;
    return spread(this.#times.get(router)!.map((time, round) => time - floors[round]!));
  }
}

export interface Spread {
  readonly median: number;
  /** The interquartile range. */
  readonly iqr: number;
}

export async function measure(
  routers: readonly Router[],
  { rounds, packets, seconds }: Plan,
  entrance: typeof OUTSIDE | typeof INSIDE = OUTSIDE,
): Promise<Rounds> {
  const end = performance.now() + seconds * 1000;
  const times = new Map(routers.map((router): [Router, number[]] => [router, []]));
  for (const router of routers) await router.inject(entrance, packets); // warm
  for (let round = 0; round === 0 || (round < rounds && performance.now() < end); round++) {
    for (const router of shuffled(routers)) times.get(router)!.push(await router.inject(entrance, packets));
  }
  return new Rounds(times);
}

function shuffled<T>(values: readonly T[]): T[] {
  return values
    .map(value => ({ value, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ value }) => value);
}

function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const quarter = sorted.length >> 2;
  return { median: median(sorted), iqr: sorted[sorted.length - 1 - quarter]! - sorted[quarter]! };
}

/** `1000 policies: 1234.5 ns, IQR 10.2; 201.3 above no policy, IQR 9.1`. */
export function logRounds(rounds: Rounds, floor: Router, log: (line: string) => void): void {
  for (const router of rounds.routers) {
    const beyond = router === floor ? '' : `; ${text(rounds.added(router, floor))} above ${floor.name}`;
    log(`${router.name}: ${text(rounds.cost(router))}${beyond}`);
  }
}

function text({ median, iqr }: Spread): string {
  return `${median.toFixed(1)} ns (IQR ${iqr.toFixed(1)})`;
}
