/** `1 pod`, `2 pods`, `1 policy`, `2 policies`. */
export function plural(n: number, noun: string): string {
  if (n === 1) return `${n} ${noun}`;
  return `${n} ${noun.endsWith('cy') ? noun.replace(/y$/, 'ies') : `${noun}s`}`;
}
