import type { Outcome } from './main.ts';

/** docs/planted-faults.md: a row for each of `names` that was planted now, or has one in the page as it was. */
export function documentOf(outcomes: readonly Outcome[], names: readonly string[], before: string): string {
  const rows = new Map(before.split('\n').map(row => [/^\| (.*?) \| `/.exec(row)?.[1] ?? '', row]));
  for (const outcome of outcomes) rows.set(cell(outcome.mutant.name), rowOf(outcome));
  const all = names.flatMap(name => rows.get(cell(name)) ?? []);
  return `${INTRODUCTION}\n| fault | file | caught by |\n|---|---|---|\n${all.join('\n')}\n`;
}

function rowOf({ mutant, caughtBy }: Outcome): string {
  const test = caughtBy === undefined ? '**nobody**' : `${cell(caughtBy)} (\`${mutant.test}\`)`;
  return `| ${cell(mutant.name)} | \`${mutant.file}\` | ${test} |`;
}

const INTRODUCTION = `# Planted faults

Each line of this table is one line of the code made wrong on purpose, and the first test that noticed. The faults are
data (\`test/mutants/mutants.ts\`); \`npm run mutants -- --write\` plants them one at a time into a copy of the tree,
runs the one test file that should notice, and writes this page (with words, the rows of the faults that they pick). It
fails where a fault goes unnoticed, and where the line to change has itself changed.
`;

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
