/** `1,234,567`. `toLocaleString` would have ICU read six megabytes for it, which an agent keeps for ever. */
export function thousands(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
}
