import type { Outcome } from './main.ts';

/** docs/planted-faults.md. */
export function documentOf(outcomes: readonly Outcome[]): string {
  const rows = outcomes.map(
    ({ mutant, caughtBy }) =>
      `| ${cell(mutant.name)} | \`${mutant.file}\` | ${caughtBy === undefined ? '**nobody**' : `${cell(caughtBy)} (\`${mutant.test}\`)`} |`,
  );
  return `${INTRODUCTION}\n| fault | file | caught by |\n|---|---|---|\n${rows.join('\n')}\n`;
}

const INTRODUCTION = `# Planted faults

Each line of this table is one line of the code made wrong on purpose, and the first test that noticed. The faults are
data (\`test/mutants/mutants.ts\`); \`npm run mutants -- --write\` plants them one at a time into a copy of the tree,
runs the one test file that should notice, and writes this page. It fails where a fault goes unnoticed, and where the
line to change has itself changed.
`;

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
