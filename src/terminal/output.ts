/** What every command prints with. */
export interface OutputOptions {
  readonly output: 'text' | 'json';
}

export function writeLine(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** One object a line, so that `jq` and `grep` work on any number of them. */
export function writeJsonLines(values: Iterable<unknown>): void {
  for (const value of values) writeLine(JSON.stringify(value));
}
