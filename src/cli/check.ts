import { checkManifests } from '../files/load.ts';
import { type Problem, problemText } from '../model/problem.ts';
import { requireReadable } from '../sources/files.ts';
import pc from '../terminal/colours.ts';
import { CommandError } from '../terminal/commanderror.ts';
import { type OutputOptions, writeJsonLines, writeLine } from '../terminal/output.ts';
import { plural } from '../terminal/plural.ts';

/** `sluice check DIR`: every problem, by file, object and field. Exit code 1 if there is one. */
export async function checkCommand(dir: string, { output }: OutputOptions): Promise<void> {
  await requireReadable(dir);
  const { cluster, problems } = await checkManifests(dir);
  const objects = cluster.namespaces.size + cluster.nodes.size + cluster.pods.size + cluster.policies.size;
  if (objects === 0 && problems.length === 0)
    throw new CommandError(`${dir} holds no object that Sluice reads`);
  if (output === 'json') writeJsonLines(problems);
  else {
    for (const problem of problems) writeLine(problemLine(problem));
    const { namespaces, nodes, pods, policies } = cluster;
    const read = [
      plural(namespaces.size, 'namespace'),
      plural(nodes.size, 'node'),
      plural(pods.size, 'pod'),
      plural(policies.size, 'policy'),
    ].join(', ');
    writeLine(problems.length === 0 ? `${pc.green('ok')}: ${read}` : `${count(problems)} in ${read}`);
  }
  if (problems.length > 0) process.exitCode = 1;
}

function problemLine(problem: Problem): string {
  const mark = problem.severity === 'error' ? pc.red('error') : pc.yellow('warning');
  return `${mark}: ${problemText(problem)}`;
}

function count(problems: readonly Problem[]): string {
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  return `${plural(errors, 'error')}, ${plural(problems.length - errors, 'warning')}`;
}
