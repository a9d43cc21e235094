/** Lines that fit a terminal. Of text without colours: these are for the finished lines. */

/** Of the terminal; 80 where the output goes elsewhere. */
export function terminalWidth(): number {
  return process.stdout.columns || 80;
}

/** The words of a text in lines of at most `width`, all but the first indented; a longer word has a line of its own. */
export function wrap(text: string, width: number, indent = 0): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(lines.length === 0 ? word : ' '.repeat(indent) + word);
  }
  return lines;
}

/** Two columns, the second one wrapped beside the first. */
export function beside(left: string, right: string, leftWidth: number, width: number): string[] {
  const fits = left.length <= leftWidth;
  const [first = '', ...rest] = wrap(right, width - leftWidth - 2);
  const indent = ' '.repeat(leftWidth + 2);
  const head = fits ? [`${left.padEnd(leftWidth)}  ${first}`] : [left, indent + first];
  return [...head, ...rest.map(line => indent + line)].map(line => line.trimEnd());
}
