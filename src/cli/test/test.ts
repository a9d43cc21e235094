/** `sluice test FILE…`: whether connections are allowed and denied as the files expect. */

import { versioned } from '../../answers/schema.ts';
import { listRepository } from '../../inputs/folder/repository.ts';
import { plural } from '../../lib/text/plural.ts';
import type { PolicyId } from '../../model/policy.ts';
import pc from '../../terminal/colours.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { isData, writeData } from '../../terminal/data.ts';
import { type JunitCase, junitLines } from '../../terminal/junit.ts';
import { terminalWidth, writeDocument, writeLines } from '../../terminal/output.ts';
import { wrap } from '../../terminal/wrap.ts';
import { wantedBy } from '../explain.ts';
import { requireReadable } from '../sources/files.ts';
import { noteStates, notesBeyond, readManifests, readState, writeNotes } from '../sources/readstate.ts';
import {
  type Assumptions,
  clusterViewOf,
  type SourceOptions,
  type State,
  sureNamespaces,
} from '../sources/state.ts';
import { LeftOutPolicies } from '../sources/without.ts';
import { readTestFile, type TestFile } from './file.ts';
import { endsOf, runTestFile, type TestCase, type TestResult } from './run.ts';

export type TestOptions = SourceOptions &
  Assumptions & { readonly output: 'text' | 'json' | 'yaml' | 'junit' };

/** Exit code 0 where all is as expected, 1 where something is not, 2 where something could not be judged. */
export async function testCommand(paths: readonly string[], options: TestOptions): Promise<void> {
  const { without, ...others } = options;
  const policies = new LeftOutPolicies(without);
  const results: TestResult[] = [];
  for (const file of await filesOf(paths))
    results.push(await runFile(await readTestFile(file), others, policies));
  const leftOut = policies.notes('in the tests and their manifests', false);
  writeNotes(leftOut);
  await write(
    options.output,
    results.map(result => ({ ...result, notes: [...result.notes, ...leftOut] })),
  );
  const cases = results.flatMap(result => result.cases);
  if (cases.some(({ failure }) => failure !== undefined)) process.exitCode = 1;
  if (cases.some(({ isError }) => isError)) process.exitCode = 2;
}

/** A file that is named is a test, whatever its name; in a folder, files called `….test.yaml` are tests. */
async function filesOf(paths: readonly string[]): Promise<string[]> {
  const files: string[] = [];
  for (const path of paths) {
    const isFolder = (await requireReadable(path))?.isDirectory() === true;
    if (isFolder)
      files.push(...(await listRepository(path)).files.filter(file => /\.test\.ya?ml$/.test(file)));
    else files.push(path);
  }
  if (files.length === 0)
    throw new CommandError(`no tests in ${paths.join(', ')}: they are called *.test.yaml`);
  return files;
}

async function runFile(test: TestFile, options: TestOptions, policies: LeftOutPolicies): Promise<TestResult> {
  const state = await stateFor(test, options);
  noteStates(state);
  const { defaultNamespace } = state.scope;
  const cluster = policies.from(state.cluster, defaultNamespace);
  const isLeftOut = (id: PolicyId) => policies.has(id, defaultNamespace);
  const result = runTestFile(
    test,
    clusterViewOf({ ...state, cluster }, options),
    notesBeyond(state),
    isLeftOut,
  );
  return sureNamespaces(state)?.length === 0 ? withoutVerdicts(result) : result;
}

/** Drops the verdicts: a policy that could not be read might decide otherwise. */
function withoutVerdicts(result: TestResult): TestResult {
  const failure = 'not all policies could be read, so there is no verdict';
  return { ...result, cases: result.cases.map(each => ({ ...each, failure, isError: true })) };
}

/** The file's own manifests and those of the command line; a file that brings all it needs asks for no cluster. */
function stateFor({ paths, objects, steps }: TestFile, options: TestOptions): Promise<State> {
  const manifests = [...(options.manifests ?? []), ...paths];
  if (manifests.length > 0) return readState({ ...options, manifests });
  if (objects.length > 0) return readManifests(options, []);
  const questions = steps.flatMap(({ flows }) => flows.map(({ flow }) => endsOf(flow)));
  const { namespaces = [] } = wantedBy(questions);
  return readState(options, { workloads: true, services: true, flags: true, namespaces });
}

async function write(format: TestOptions['output'], results: readonly TestResult[]): Promise<void> {
  if (isData(format))
    await writeData(
      format,
      results.map(result => versioned('TestResult', result)),
    );
  else if (format === 'junit') writeDocument(junitOf(results));
  else writeLines(textLines(results, terminalWidth()));
}

function textLines(results: readonly TestResult[], width: number): string[] {
  const cases = results.flatMap(result => result.cases);
  const failed = cases.filter(({ failure }) => failure !== undefined).length;
  const total = `${plural(cases.length, 'flow')} in ${plural(results.length, 'file')}`;
  return [
    ...results.flatMap(result => resultLines(result, width)),
    failed === 0 ? `${pc.green('ok')}: ${total}` : `${pc.red(`${failed} failed`)} of ${total}`,
  ];
}

function resultLines({ file, title, cases }: TestResult, width: number): string[] {
  const failed = cases.filter(({ failure }) => failure !== undefined);
  if (failed.length === 0) return [`${pc.green('ok')}    ${title}`];
  const where = title === file || file === '-' ? '' : ` (${file})`;
  return [`${pc.red('FAIL')}  ${title}${where}`, ...failed.flatMap(each => failureLines(each, width))];
}

function failureLines({ step, flow, failure }: TestCase, width: number): string[] {
  const where = step === undefined ? '' : `${step}: `;
  return [...wrap(`      ${where}${flow}`, width, 8), ...wrap(`        ${failure}`, width, 8)];
}

/** A suite for each file, a case for each flow. */
export function junitOf(results: readonly TestResult[]): string[] {
  const caseOf = (file: string, { step, flow, expected, failure, isError }: TestCase): JunitCase => ({
    name: `${step === undefined ? '' : `${step}: `}${flow} ${expected}`,
    className: file,
    ...(failure !== undefined && { failure }),
    ...(isError && { isError }),
  });
  return junitLines(
    'sluice test',
    results.map(({ file, title, cases }) => ({
      name: title,
      file,
      cases: cases.map(each => caseOf(file, each)),
    })),
  );
}
