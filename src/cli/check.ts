import { isUtf8 } from 'node:buffer';
import {
  access,
  chmod,
  chown,
  constants,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { sep } from 'node:path';
import { foreignNotes } from '../answers/foreignnotes.ts';
import { lint } from '../answers/lint/lint.ts';
import { versioned } from '../answers/schema.ts';
import { fixText } from '../inputs/files/fixtext.ts';
import type { LoadedCluster } from '../inputs/files/load.ts';
import { readingNotes, readingObject, readingText } from '../inputs/files/tally.ts';
import { getOrMake } from '../lib/collections/getormake.ts';
import { groupedBy } from '../lib/collections/groupedby.ts';
import { errorText } from '../lib/text/errortext.ts';
import { plural } from '../lib/text/plural.ts';
import { type Problem, problemText, WARNING_CODES } from '../model/problem.ts';
import pc from '../terminal/colours.ts';
import { CommandError } from '../terminal/commanderror.ts';
import { isData, writeData } from '../terminal/data.ts';
import { HANG } from '../terminal/hang.ts';
import { type JunitSuite, junitLines } from '../terminal/junit.ts';
import { writeDocument, writeJson, writeLine } from '../terminal/output.ts';
import { type Finding, sarifOf } from '../terminal/sarif.ts';
import { VERSION } from './program/version.ts';
import { holdsNothing, nothingIn, requireReadable } from './sources/files.ts';
import { checkManifests, isFile } from './sources/manifests.ts';
import { Renderer } from './sources/render.ts';

export interface CheckOptions {
  readonly output: 'text' | 'json' | 'yaml' | 'junit' | 'sarif';
  readonly strict?: boolean;
  /** Each path is a cluster of its own. */
  readonly each?: boolean;
  /** Charts and kustomizations are rendered. */
  readonly render?: boolean;
  /** Files are edited where a warning has one fix. */
  readonly fix?: boolean;
  readonly accept?: readonly string[];
  /** The namespace of objects that name none. */
  readonly namespace?: string;
}

/** Paths that are one cluster together, and what is wrong with them. */
interface Judged {
  readonly paths: readonly string[];
  readonly read: LoadedCluster;
  readonly problems: readonly Problem[];
  readonly notes: readonly string[];
}

/**
 * `sluice check PATH…`: every problem, by file, object and field. Exit code 1 if there is an error; with --strict also
 * for a warning.
 */
export async function checkCommand(paths: readonly string[], options: CheckOptions): Promise<void> {
  const accepted = (options.accept ?? []).map(parseAccepted);
  for (const path of paths) await requireReadable(path);
  if (options.fix && paths.includes('-'))
    throw new CommandError('--fix writes files, and standard input is none');
  const renderer = options.render ? new Renderer() : undefined;
  const found: Judged[] = [];
  for (const some of options.each ? paths.map(path => [path]) : [paths]) {
    const judged = await judge(some, options, accepted, renderer);
    if (!options.each && holdsNothing(judged.read)) throw new CommandError(nothingIn(paths, judged.read));
    found.push(judged);
    if (options.output === 'text') writeJudged(judged, options);
  }
  if (found.every(({ read }) => holdsNothing(read)))
    throw new CommandError('none of the paths holds an object that Sluice reads');
  const problems = found.flatMap(each => each.problems);
  if (options.output === 'junit') writeDocument(junitOf(problems, paths));
  else if (options.output === 'sarif') writeJson(sarifOf(problems.map(withCode), VERSION));
  else if (isData(options.output))
    await writeData(
      options.output,
      found.flatMap(each => dataOf(each, options)),
    );
  else if (options.each) writeLine(eachText(found));
  if (problems.some(({ severity }) => severity === 'error' || options.strict)) process.exitCode = 1;
}

async function judge(
  paths: readonly string[],
  options: CheckOptions,
  accepted: readonly Accepted[],
  renderer: Renderer | undefined,
): Promise<Judged> {
  let read = await checkManifests(paths, lint, { ...options, renderer });
  const isCounted = (problem: Problem) => !isAccepted(problem, accepted);
  const fixes = options.fix ? mendable(read.problems.filter(isCounted)) : [];
  const left = fixes.length === 0 ? [] : await mend(fixes, paths, options);
  if (fixes.length > 0) read = await checkManifests(paths, lint, options);
  const notes = [...left, ...readingNotes(read.reading), ...foreignNotes(read)];
  return { paths, read, problems: read.problems.filter(isCounted), notes };
}

const numbersOf = ({ read: { inventory, cluster } }: Judged) => ({
  workloads: inventory.workloads.size,
  policies: cluster.policies.size,
});

function dataOf(judged: Judged, { each }: CheckOptions): object[] {
  const { problems, notes, read, paths } = judged;
  const reading = { ...readingObject(read.reading), ...numbersOf(judged), notes };
  return [
    ...problems.map(problem => versioned('Problem', problem)),
    versioned('Reading', { ...(each && { path: paths[0] }), ...reading }),
  ];
}

/** With --each a line for each path, after what is wrong with it. */
function writeJudged(judged: Judged, { each }: CheckOptions): void {
  const { problems, notes, read, paths } = judged;
  for (const problem of problems) writeLine(problemLine(problem));
  for (const note of notes) writeLine(`${pc.yellow('note')}: ${HANG}${note}`);
  const text = summary(problems, read.problems.length - problems.length, countsOf(read));
  const { workloads, policies } = numbersOf(judged);
  const lines = each
    ? [`${paths[0]}: ${HANG}${holdsNothing(read) ? 'holds no object that Sluice reads' : text}`]
    : [text, readingText(read.reading, workloads, policies)];
  for (const line of lines) writeLine(line);
}

/** `305 clusters: 2 with errors, 12 with warnings alone`. */
function eachText(found: readonly Judged[]): string {
  const isBad = ({ problems }: Judged) => problems.some(({ severity }) => severity === 'error');
  const bad = found.filter(isBad).length;
  const warned = found.filter(each => !isBad(each) && each.problems.length > 0).length;
  return `${plural(found.length, 'cluster')}: ${bad} with errors, ${warned} with warnings alone`;
}

function countsOf({ cluster, inventory }: LoadedCluster): string {
  const { namespaces, nodes, pods, policies, audited } = cluster;
  return [
    plural(namespaces.size, 'namespace'),
    plural(nodes.size, 'node'),
    plural(pods.size, 'pod'),
    plural(inventory.workloads.size, 'workload'),
    plural(policies.size, 'policy'),
    ...(audited.size === 0 ? [] : [`${plural(audited.size, 'policy')} audited and not enforced`]),
  ].join(', ');
}

type Mendable = Problem & Required<Pick<Problem, 'file' | 'object' | 'fix'>>;

/** Those that have an edit, in files and in objects without errors. */
function mendable(problems: readonly Problem[]): readonly Mendable[] {
  const idOf = ({ file, object }: Problem) => `${file} ${object}`;
  const broken = new Set(problems.filter(({ severity }) => severity === 'error').map(idOf));
  return problems.flatMap(problem => {
    const { file, object, fix } = problem;
    const isPlain =
      file !== undefined && object !== undefined && fix !== undefined && !broken.has(idOf(problem));
    return isPlain && isFile(file) ? [{ ...problem, file, object, fix }] : [];
  });
}

/** Makes the edits of problems; says which files are left as they are, and why. */
async function mend(
  problems: readonly Mendable[],
  paths: readonly string[],
  { output, namespace }: CheckOptions,
): Promise<readonly string[]> {
  const roots = await Promise.all(paths.map(path => realpath(path)));
  // One file can have several names, by links.
  const byTarget = new Map<string, Mendable[]>();
  for (const problem of problems) getOrMake(byTarget, await realpath(problem.file), () => []).push(problem);
  const left: string[] = [];
  for (const [target, some] of byTarget)
    try {
      const made = await mendFile(target, roots, some, namespace);
      if (output !== 'text') continue;
      for (const { file, object, fix, code } of made)
        writeLine(`${pc.green(`fixed[${code}]`)}: ${HANG}${file}: ${object}: ${fix.field}`);
    } catch (error) {
      left.push(`--fix leaves ${some[0]?.file} as it is: ${errorText(error)}`);
    }
  return left;
}

/** The edits that were made; throws where the file is left as it is. */
async function mendFile(
  target: string,
  roots: readonly string[],
  edits: readonly Mendable[],
  namespace?: string,
): Promise<readonly Mendable[]> {
  const isInside = roots.some(root => `${target}${sep}`.startsWith(root.endsWith(sep) ? root : root + sep));
  if (!isInside) throw new Error(`it is a link to ${target}, outside of what was given`);
  const bytes = await readFile(target);
  if (!isUtf8(bytes)) throw new Error('it is not valid UTF-8');
  const { text, made } = fixText(bytes.toString('utf8'), edits, namespace);
  if (made.length > 0) await replaceFile(target, text);
  return made;
}

/** The file is never half written, and keeps its mode and, where that is allowed, its owner. */
async function replaceFile(path: string, text: string): Promise<void> {
  // A file in a folder that can be written could be replaced although it is read-only itself.
  await access(path, constants.W_OK);
  const { mode, uid, gid } = await stat(path);
  const unfinished = `${path}.sluice-${process.pid}`;
  try {
    await writeFile(unfinished, text, { flag: 'wx', mode: 0o600 });
    await chown(unfinished, uid, gid).catch(() => {});
    await chmod(unfinished, mode);
    await rename(unfinished, path);
  } finally {
    await rm(unfinished, { force: true });
  }
}

/** An error has no kind by which it could be accepted. */
function withCode(problem: Problem): Finding {
  return { ...problem, code: problem.code ?? (problem.severity === 'error' ? 'error' : 'object') };
}

/** A suite for each file that has problems, or one that passes. */
function junitOf(problems: readonly Problem[], paths: readonly string[]): string[] {
  const byFile = groupedBy(problems, ({ file }) => file ?? '-');
  const suites = [...byFile].map(([file, some]): JunitSuite => {
    const cases = some.map(problem => ({
      name: `${withCode(problem).code} ${problem.object ?? ''}`.trim(),
      className: file,
      failure: problemText(problem),
    }));
    return { name: file, file, cases };
  });
  const fine = { name: paths.join(', '), cases: [{ name: 'no problem', className: 'sluice' }] };
  return junitLines('sluice check', suites.length > 0 ? suites : [fine]);
}

function problemLine(problem: Problem): string {
  if (problem.severity === 'error') return `${pc.red('error')}: ${HANG}${problemText(problem)}`;
  return `${pc.yellow(`warning[${problem.code ?? 'object'}]`)}: ${HANG}${problemText(problem)}`;
}

function summary(problems: readonly Problem[], accepted: number, objects: string): string {
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  const rest = accepted === 0 ? '' : `, ${accepted} accepted`;
  if (problems.length === 0) return `${pc.green('ok')}: ${objects}${rest}`;
  const fixes = mendable(problems).length;
  const mended = fixes === 0 ? '' : ` (--fix repairs ${fixes} of them)`;
  return `${plural(errors, 'error')}, ${plural(problems.length - errors, 'warning')}${mended}${rest} in ${objects}`;
}

/** Warnings to ignore: all of a kind, or those of one object. */
interface Accepted {
  readonly code: string;
  /** `NetworkPolicy shop/web`; absent for all. */
  readonly object?: string;
}

/** `empty-subject`, or `empty-subject:NetworkPolicy shop/web`. Throws CommandError where there is no such kind. */
function parseAccepted(text: string): Accepted {
  const [code = '', ...rest] = text.split(':');
  if (!(WARNING_CODES as readonly string[]).includes(code))
    throw new CommandError(`--accept "${text}": ${code} is no kind of warning (${WARNING_CODES.join(', ')})`);
  return { code, ...(rest.length > 0 && { object: rest.join(':').trim() }) };
}

/** An error never is. */
function isAccepted({ severity, code = 'object', object }: Problem, accepted: readonly Accepted[]): boolean {
  if (severity === 'error') return false;
  return accepted.some(each => each.code === code && (each.object === undefined || each.object === object));
}
