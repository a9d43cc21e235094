/** `45 s`, `2 min 5 s`, `3 h 10 min`. */
export function spanText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 60) return `${seconds} s`;
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3_600)];
  const [big, small] =
    hours > 0 ? [`${hours} h`, `${minutes % 60} min`] : [`${minutes} min`, `${seconds % 60} s`];
  return small.startsWith('0 ') ? big : `${big} ${small}`;
}
