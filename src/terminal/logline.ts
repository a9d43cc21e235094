/** A line of JSON from the logger, made safe to look at: messages quote texts from the cluster. */
import { printableJsonText } from './printable.ts';

/** Means the same, and shows itself. */
export function jsonLogLine(line: string): string {
  return `${printableJsonText(line.trimEnd())}\n`;
}

/** For a writer that parses the line and prints its texts: what they would do is shown instead, new lines too. */
export function shownLogLine(line: string): string {
  return jsonLogLine(line).replace(/\\(u[0-9a-fA-F]{4}|.)/g, (pair, kind: string) =>
    kind === '"' || kind === '\\' || kind === '/' ? pair : `\\${pair}`,
  );
}
