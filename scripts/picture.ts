/**
 * Makes the README's picture from the demo's real output:
 *   FORCE_COLOR=1 scripts/demo | node scripts/picture.ts > docs/demo.svg
 * Shows the first board and the first edit.
 */
import { text } from 'node:stream/consumers';

const FONT = 14;
const CELL = { width: 8.43, height: 18 };
const MARGIN = 18;
const COLOURS: Record<string, string> = { 31: '#ff7b72', 32: '#7ee787', 33: '#e3b341', 36: '#79c0ff' };
const WIDEST = 88;
const HEADINGS_SHOWN = 3;
const ESCAPE = String.fromCharCode(27);
const SGR = new RegExp(`(${ESCAPE}\\[\\d*m)`);

interface Style {
  readonly colour?: string;
  readonly bold?: boolean;
  readonly dim?: boolean;
}

interface Span {
  readonly style: Style;
  readonly text: string;
}

function shown(output: string): string[] {
  const lines = output.trimEnd().split('\n');
  const headings = lines.flatMap((line, i) => (line.includes('▌') ? [i] : []));
  const kept = lines.slice(headings[0], headings[HEADINGS_SHOWN]);
  while (kept.at(-1)?.trim() === '') kept.pop();
  return kept;
}

/** Cuts a line at its SGR codes (ECMA-48 8.3.117). */
function spans(line: string): Span[] {
  const made: Span[] = [];
  let style: Style = {};
  for (const piece of line.split(SGR)) {
    const code = piece.startsWith(ESCAPE) ? piece.slice(2, -1) : undefined;
    if (code !== undefined) style = restyled(style, code);
    else if (piece !== '') made.push({ style, text: piece });
  }
  return made;
}

/** The first `width` columns. */
function clipped(line: readonly Span[], width: number): Span[] {
  const kept: Span[] = [];
  let left = width;
  for (const { style, text } of line) {
    if (left <= 0) break;
    kept.push({ style, text: text.length > left ? `${text.slice(0, left - 1)}…` : text });
    left -= text.length;
  }
  return kept;
}

function restyled({ colour, bold, dim }: Style, code: string): Style {
  if (code === '' || code === '0') return {};
  if (code === '1') return { ...(colour && { colour }), bold: true };
  if (code === '2') return { ...(colour && { colour }), dim: true };
  if (code === '22') return colour ? { colour } : {};
  const weight = { ...(bold && { bold }), ...(dim && { dim }) };
  return COLOURS[code] === undefined ? weight : { ...weight, colour: COLOURS[code] };
}

function svg(output: readonly string[]): string {
  const lines = output.map(line => clipped(spans(line), WIDEST));
  const plain = lines.map(line => line.map(({ text }) => text).join(''));
  const width = Math.ceil(Math.max(...plain.map(line => line.length)) * CELL.width + 2 * MARGIN);
  const height = lines.length * CELL.height + 2 * MARGIN;
  const rows = lines.map((line, i) => row(line, MARGIN + (i + 0.75) * CELL.height));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${FONT}">`,
    '<title>scripts/demo: who reaches whom before and after an edit, tried with real packets</title>',
    `<rect width="100%" height="100%" rx="8" fill="#0d1117"/>`,
    ...rows,
    '</svg>',
  ].join('\n');
}

/** Every span at its own column, so that no font can shift the board. */
function row(line: readonly Span[], y: number): string {
  let column = 0;
  return line
    .map(({ style, text }) => {
      const x = MARGIN + column * CELL.width;
      column += text.length;
      const look = `fill="${style.colour ?? '#e6edf3'}"${style.bold ? ' font-weight="bold"' : ''}${style.dim ? ' opacity="0.6"' : ''}`;
      return `<text x="${x.toFixed(1)}" y="${y}" ${look} textLength="${(text.length * CELL.width).toFixed(1)}" xml:space="preserve">${escaped(text)}</text>`;
    })
    .join('');
}

function escaped(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;');
}

process.stdout.write(`${svg(shown(await text(process.stdin)))}\n`);
