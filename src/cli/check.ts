import { lint } from '../answers/lint/lint.ts';
import { versioned } from '../answers/schema.ts';
import { readingObject, readingText, unrenderedNotes } from '../inputs/files/tally.ts';
import { plural } from '../lib/text/plural.ts';
import { type Problem, problemText, WARNING_CODES } from '../model/problem.ts';
import pc from '../terminal/colours.ts';
import { CommandError } from '../terminal/commanderror.ts';
import { isData, writeData } from '../terminal/data.ts';
import { HANG } from '../terminal/hang.ts';
import { type OutputOptions, writeLine } from '../terminal/output.ts';
import { holdsNothing, nothingIn, requireReadable } from './sources/files.ts';
import { checkManifests } from './sources/manifests.ts';

export interface CheckOptions extends OutputOptions {
  readonly strict?: boolean;
  readonly accept?: readonly string[];
  /** The namespace of objects that name none. */
  readonly namespace?: string;
}

/**
 * `sluice check PATH…`: every problem, by file, object and field. Exit code 1 if there is an error; with --strict also
 * for a warning.
 */
export async function checkCommand(paths: readonly string[], options: CheckOptions): Promise<void> {
  const accepted = (options.accept ?? []).map(parseAccepted);
  for (const path of paths) await requireReadable(path);
  const read = await checkManifests(paths, lint, options.namespace);
  if (holdsNothing(read)) throw new CommandError(nothingIn(paths, read));
  const { cluster, inventory, problems: all, reading } = read;
  const problems = all.filter(problem => !isAccepted(problem, accepted));
  const { namespaces, nodes, pods, policies, audited } = cluster;
  const objects = [
    plural(namespaces.size, 'namespace'),
    plural(nodes.size, 'node'),
    plural(pods.size, 'pod'),
    plural(inventory.workloads.size, 'workload'),
    plural(policies.size, 'policy'),
    ...(audited.size === 0 ? [] : [`${plural(audited.size, 'policy')} audited and not enforced`]),
  ].join(', ');
  const notes = unrenderedNotes(reading);
  const [workloadCount, policyCount] = [inventory.workloads.size, policies.size];
  if (isData(options.output))
    await writeData(options.output, [
      ...problems.map(problem => versioned('Problem', problem)),
      versioned('Reading', {
        ...readingObject(reading),
        workloads: workloadCount,
        policies: policyCount,
        notes,
      }),
    ]);
  else {
    for (const problem of problems) writeLine(problemLine(problem));
    for (const note of notes) writeLine(`${pc.yellow('note')}: ${HANG}${note}`);
    writeLine(summary(problems, all.length - problems.length, objects));
    writeLine(readingText(reading, workloadCount, policyCount));
  }
  if (problems.some(({ severity }) => severity === 'error' || options.strict)) process.exitCode = 1;
}

function problemLine(problem: Problem): string {
  if (problem.severity === 'error') return `${pc.red('error')}: ${HANG}${problemText(problem)}`;
  return `${pc.yellow(`warning[${problem.code ?? 'object'}]`)}: ${HANG}${problemText(problem)}`;
}

function summary(problems: readonly Problem[], accepted: number, objects: string): string {
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  const rest = accepted === 0 ? '' : `, ${accepted} accepted`;
  if (problems.length === 0) return `${pc.green('ok')}: ${objects}${rest}`;
  return `${plural(errors, 'error')}, ${plural(problems.length - errors, 'warning')}${rest} in ${objects}`;
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
