/** An edit as a patch for `git apply` or `patch -p1`, and as a command. */
import { printable } from '../../src/terminal/printable.ts';
import type { Files } from '../core/protocol.ts';

export function patchText(before: Files, after: Files): string {
  const [old, now] = [new Map(before), new Map(after)];
  const names = [...new Set([...old.keys(), ...now.keys()])];
  return names
    .filter(name => (old.get(name) ?? '') !== (now.get(name) ?? ''))
    .map(name => filePatch(name, old.get(name), now.get(name)))
    .join('');
}

const AROUND = 3;

function filePatch(name: string, old: string | undefined, now: string | undefined): string {
  // A name with a space ends at a tab, or `patch` would end it at the space.
  const path = printable(name).replace(/.* .*/, '$&\t');
  const [a, b] = [linesOf(old ?? ''), linesOf(now ?? '')];
  const head = `--- ${old === undefined ? '/dev/null' : `a/${path}`}\n+++ ${now === undefined ? '/dev/null' : `b/${path}`}\n`;
  return head + hunks(a, b).join('');
}

/** Each with its end, as the last one may have none. */
function linesOf(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

type Step = readonly [sign: ' ' | '-' | '+', line: string];

/** What is the same at both ends is no part of the comparison, which is of two edits at most in most cases. */
function hunks(a: readonly string[], b: readonly string[]): string[] {
  const steps = stepsOf(a, b);
  const found: string[] = [];
  let [i, oldAt, newAt] = [0, 1, 1];
  while (i < steps.length) {
    if (steps[i]![0] === ' ') {
      [i, oldAt, newAt] = [i + 1, oldAt + 1, newAt + 1];
      continue;
    }
    const start = Math.max(0, i - AROUND);
    const lead = i - start;
    let end = i;
    for (let each = i, quiet = 0; each < steps.length && quiet <= 2 * AROUND; each++) {
      quiet = steps[each]![0] === ' ' ? quiet + 1 : 0;
      if (quiet === 0) end = each + 1;
    }
    const part = steps.slice(start, Math.min(steps.length, end + AROUND));
    const count = (sign: '-' | '+') => part.filter(([each]) => each === ' ' || each === sign).length;
    found.push(
      `@@ -${place(oldAt - lead, count('-'))} +${place(newAt - lead, count('+'))} @@\n${part.map(lineOf).join('')}`,
    );
    for (const [sign] of steps.slice(i, start + part.length)) {
      if (sign !== '+') oldAt++;
      if (sign !== '-') newAt++;
    }
    i = start + part.length;
  }
  return found;
}

function place(first: number, count: number): string {
  return `${count === 0 ? first - 1 : first},${count}`;
}

function lineOf([sign, line]: Step): string {
  return line.endsWith('\n') ? `${sign}${line}` : `${sign}${line}\n\\ No newline at end of file\n`;
}

/** Above it, everything between the first and the last change is replaced as a whole. */
const MOST_COMPARED = 4_000_000;

function stepsOf(a: readonly string[], b: readonly string[]): Step[] {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const same = (line: string): Step => [' ', line];
  const between =
    left.length * right.length > MOST_COMPARED
      ? [...left.map((line): Step => ['-', line]), ...right.map((line): Step => ['+', line])]
      : longestCommon(left, right);
  return [...a.slice(0, start).map(same), ...between, ...a.slice(a.length - end).map(same)];
}

function longestCommon(a: readonly string[], b: readonly string[]): Step[] {
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i * width + j] =
        a[i] === b[j]
          ? lengths[(i + 1) * width + j + 1]! + 1
          : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!);
  const steps: Step[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      steps.push([' ', a[i++]!]);
      j++;
    } else if (
      j >= b.length ||
      (i < a.length && lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!)
    )
      steps.push(['-', a[i++]!]);
    else steps.push(['+', b[j++]!]);
  }
  return steps;
}

export type Command = { readonly command: string } | { readonly none: string };

/**
 * What a terminal takes for a key: a carriage return in a comment ends a line there, and with it the texts, so that what
 * follows would run; an escape may end a paste. CRLF is a line end like LF.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are meant
const KEYS = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/;
const END = 'EOF';

/** The texts go to kubectl as they are. It is pasted into a shell: there is none where a text could end it. */
export function kubectlCommand(edited: Files): Command {
  if (edited.length === 0)
    return { none: 'There is no command: files were only removed, and kubectl apply removes nothing.' };
  const text = edited.map(([, each]) => each.replaceAll('\r\n', '\n').trimEnd()).join('\n---\n');
  if (KEYS.test(text))
    return { none: 'There is no command: the manifests have control characters. Save them as a file.' };
  if (text.split('\n').includes(END))
    return { none: `There is no command: a line of the manifests is ${END}. Save them as a file.` };
  return { command: `kubectl apply -f - <<'${END}'\n${text}\n${END}\n` };
}
