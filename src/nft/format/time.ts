/** A time as nft writes it: `10m`, `1m30s`, `400ms`. */
export function timeText(ms: number): string {
  if (ms <= 0) return '0s';
  let rest = ms;
  const parts = UNITS.map(([unit, length]) => {
    const count = Math.floor(rest / length);
    rest -= count * length;
    return count === 0 ? '' : `${count}${unit}`;
  });
  return parts.join('');
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const;
