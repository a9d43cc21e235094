/** `a, b and 3 more`: as much of a list of any length as fits into a sentence. */
export function firstOf<T>(items: readonly T[], most: number, textOf: (item: T) => string = String): string {
  const more = items.length - most;
  return items.slice(0, most).map(textOf).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
