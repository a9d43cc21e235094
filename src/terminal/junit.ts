/** Results as JUnit's XML, which every CI reads. */

export interface JunitSuite {
  readonly name: string;
  readonly file?: string;
  readonly cases: readonly JunitCase[];
}

export interface JunitCase {
  readonly name: string;
  readonly className: string;
  /** Absent where it is as it should be. */
  readonly failure?: string;
  /** It could not be judged. */
  readonly isError?: boolean;
}

export function junitLines(name: string, suites: readonly JunitSuite[]): string[] {
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="${escaped(name)}" ${counts(suites.flatMap(({ cases }) => cases))}>`,
    ...suites.flatMap(suite => [
      `  <testsuite name="${escaped(suite.name)}"${fileOf(suite)} ${counts(suite.cases)}>`,
      ...suite.cases.flatMap(caseLines),
      '  </testsuite>',
    ]),
    '</testsuites>',
  ];
}

function fileOf({ file }: JunitSuite): string {
  return file === undefined ? '' : ` file="${escaped(file)}"`;
}

function caseLines({ name, className, failure, isError }: JunitCase): string[] {
  const open = `    <testcase name="${escaped(name)}" classname="${escaped(className)}"`;
  if (failure === undefined) return [`${open}/>`];
  const tag = isError ? 'error' : 'failure';
  return [`${open}>`, `      <${tag} message="${escaped(failure)}"/>`, '    </testcase>'];
}

function counts(cases: readonly JunitCase[]): string {
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
