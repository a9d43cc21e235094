import type { Place } from './places.ts';

/** What became of a fault. */
export interface Outcome {
  readonly place: Place;
  /** The first test that failed; undefined where none did. */
  readonly caughtBy: string | undefined;
}

/** A page with a row for each fault that was planted. */
export function pageOf(outcomes: readonly Outcome[]): string {
  return `${INTRODUCTION}\n| fault | file | caught by |\n|---|---|---|\n${outcomes.map(rowOf).join('\n')}\n`;
}

function rowOf({ place, caughtBy }: Outcome): string {
  const test = caughtBy === undefined ? '**nobody**' : `${cell(caughtBy)} (\`${place.test}\`)`;
  return `| ${cell(place.name)} | \`${place.file}\` | ${test} |`;
}

const INTRODUCTION = `# Planted faults

Each line of this table is a place of the code made wrong on purpose, and the first test that noticed. \`npm run mutants --
--page FILE\` plants them (\`test/mutants/mutants.ts\`) one at a time into a copy of the tree, and writes this page.
`;

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
