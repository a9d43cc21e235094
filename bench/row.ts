/** One line of `npm run bench`. */
export interface BenchRow {
  readonly name: string;
  readonly value: number;
  readonly unit:
    | 'µs'
    | 'ms'
    | 's'
    | 'ns'
    | 'MB'
    | '%'
    | 'requests'
    | 'packets'
    | 'connections'
    | 'commits'
    | 'listings';
  /** The same work done by a peer, or by the least that can do it, in the same run and unit. */
  readonly floor?: number;
  /** value / floor. */
  readonly ratio?: number;
  /** The limit of `ratio`; if there is no ratio, the limit of `value` beyond `floor`, if there is a floor. */
  readonly budget: number;
  readonly ok: boolean;
}

/** A row that is judged by its ratio to a floor. */
export function againstFloor(
  name: string,
  unit: BenchRow['unit'],
  value: number,
  floor: number,
  budget: number,
): BenchRow {
  const ratio = value / floor;
  return { name, value, unit, floor, ratio, budget, ok: ratio <= budget };
}

/** A row that is judged by its value. */
export function absolute(name: string, unit: BenchRow['unit'], value: number, budget: number): BenchRow {
  return { name, value, unit, budget, ok: value <= budget };
}

/** A row that is judged by what its value is beyond a floor. */
export function beyondFloor(
  name: string,
  unit: BenchRow['unit'],
  value: number,
  floor: number,
  budget: number,
): BenchRow {
  return { name, value, unit, floor, budget, ok: value - floor <= budget };
}

/** The middle one, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

/** The value that `percent` of all do not exceed. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)]!;
}
