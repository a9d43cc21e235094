/** /proc/net/dev as text: two lines of titles, and one for each interface, which begins with its name and a colon. */
export function parseNames(text: string): string[] {
  return text.split('\n').flatMap(line => /^\s*([^\s|]+):/.exec(line)?.[1] ?? []);
}
