/** `p50 12.1  p90 14.0  p99 20.2  max 25.0` */
export function percentiles(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
  const text = (value: number) => value.toFixed(1).padStart(6);
  return `p50 ${text(at(0.5))}  p90 ${text(at(0.9))}  p99 ${text(at(0.99))}  max ${text(sorted.at(-1)!)}`;
}
