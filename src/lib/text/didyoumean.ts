/** The word that a person most likely meant: the same letters in another case, or at most two edits away. */
export function didYouMean(word: string, words: readonly string[]): string | undefined {
  if (word.length > 40) return undefined;
  const distances = words.map(candidate => ({ candidate, distance: distance(word, candidate) }));
  const best = distances.toSorted((a, b) => a.distance - b.distance)[0];
  return best !== undefined && best.distance <= Math.min(2, word.length - 2) ? best.candidate : undefined;
}

/** Levenshtein distance, ignoring case; swapping two neighbouring letters counts as one edit. */
function distance(from: string, to: string): number {
  const a = from.toLowerCase();
  const b = to.toLowerCase();
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  let before = row;
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? before[j - 2]! + 1 : Number.POSITIVE_INFINITY;
      const changed = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, changed, swapped);
    }
    [before, row] = [row, next];
  }
  return row[b.length]!;
}
