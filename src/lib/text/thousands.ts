/** `1,234,567`. `toLocaleString` would make ICU load six megabytes, which the agent would keep for ever. */
export function thousands(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
}
