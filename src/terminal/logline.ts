/** A line of JSON from the logger, made safe for a terminal: messages quote texts from the cluster. */
import { printableJsonText } from './printable.ts';

/** Means the same, and shows itself. */
export function jsonLogLine(line: string): string {
  return `${printableJsonText(line.trimEnd())}\n`;
}

/** For a writer that parses the line and prints its texts: control characters are shown as text, also new lines. */
export function shownLogLine(line: string): string {
  return jsonLogLine(line).replace(/\\(u[0-9a-fA-F]{4}|.)/g, (pair, kind: string) =>
    kind === '"' || kind === '\\' || kind === '/' ? pair : `\\${pair}`,
  );
}
