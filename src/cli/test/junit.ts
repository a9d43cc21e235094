/** Results as JUnit's XML, which every CI reads: a suite for each file, a case for each flow. */
import type { TestCase, TestResult } from './run.ts';

export function junitLines(results: readonly TestResult[]): string[] {
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="sluice test" ${counts(results.flatMap(({ cases }) => cases))}>`,
    ...results.flatMap(({ file, title, cases }) => [
      `  <testsuite name="${escaped(title)}" file="${escaped(file)}" ${counts(cases)}>`,
      ...cases.flatMap(each => caseLines(file, each)),
      '  </testsuite>',
    ]),
    '</testsuites>',
  ];
}

function caseLines(file: string, { step, flow, expected, failure, isError }: TestCase): string[] {
  const name = `${step === undefined ? '' : `${step}: `}${flow} ${expected}`;
  const open = `    <testcase name="${escaped(name)}" classname="${escaped(file)}"`;
  if (failure === undefined) return [`${open}/>`];
  const tag = isError ? 'error' : 'failure';
  return [`${open}>`, `      <${tag} message="${escaped(failure)}"/>`, '    </testcase>'];
}

function counts(cases: readonly TestCase[]): string {
  const errors = cases.filter(({ isError }) => isError).length;
  const failures = cases.filter(({ failure }) => failure !== undefined).length - errors;
  return `tests="${cases.length}" failures="${failures}" errors="${errors}"`;
}

/** XML 1.0 has no way to write most control characters. */
function escaped(text: string): string {
  return text
    .replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '\u{fffd}')
    .replace(/[&<>"'\t\n\r]/g, character => `&#${character.charCodeAt(0)};`);
}
