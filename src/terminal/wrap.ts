/** Lines that fit a terminal. */
import { withoutColours } from './colours.ts';

/** A text in lines of at most `width`, all but the first indented; a longer word has its own line. */
export function wrap(text: string, width: number, indent = 0): string[] {
  const [first = '', ...words] = text.split(/(?<=\S) /);
  const lines = [first];
  for (const word of words) {
    const longer = `${lines.at(-1)} ${word}`;
    if (visibleWidth(longer) <= width) lines[lines.length - 1] = longer;
    else lines.push(' '.repeat(indent) + word.trimStart());
  }
  return lines;
}

/** Comments of YAML. Without `columns` each text stays one line. */
export function comments(texts: readonly string[], columns: number | undefined): string[] {
  const lines = columns === undefined ? texts : texts.flatMap(text => wrap(text, columns - 2));
  return lines.map(line => `# ${line}`);
}

/** Colours have none. */
export function visibleWidth(text: string): number {
  return [...withoutColours(text)].length;
}

/** Two columns, the second one wrapped beside the first. */
export function beside(left: string, right: string, leftWidth: number, width: number): string[] {
  const fits = left.length <= leftWidth;
  const [first = '', ...rest] = wrap(right, width - leftWidth - 2);
  const indent = ' '.repeat(leftWidth + 2);
  const head = fits ? [`${left.padEnd(leftWidth)}  ${first}`] : [left, indent + first];
  return [...head, ...rest.map(line => indent + line)].map(line => line.trimEnd());
}
