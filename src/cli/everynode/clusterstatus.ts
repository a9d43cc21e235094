/** `sluice status` where no agent is: a line for each node of the cluster, and what is wrong there. */

import type { CheckState } from '../../api/health/check.ts';
import { asMap, asMaps } from '../../inputs/kube/report/identity.ts';
import { plural } from '../../lib/text/plural.ts';
import pc from '../../terminal/colours.ts';
import { isData, writeData } from '../../terminal/data.ts';
import { HANG } from '../../terminal/hang.ts';
import { type OutputOptions, writeLines, writeNote } from '../../terminal/output.ts';
import { clusterAgents } from './clusteragents.ts';
import type { WhereOptions } from './command.ts';
import { awayTexts, type NodeAnswer, OWN_SOCKET, objectsOf, runOnNodes } from './onnodes.ts';

/** Of one node it has all lines. Exit code 1 if a node is not ready; 2 if one did not answer. Throws CommandError if the cluster cannot be asked. */
export async function clusterStatus(options: WhereOptions & OutputOptions): Promise<void> {
  const { node, output } = options;
  const isWhole = node !== undefined || output === 'wide';
  const format = isWhole && !isData(output) ? 'wide' : 'json';
  const answers = await runOnNodes(
    await clusterAgents(options),
    ['sluice', 'status', OWN_SOCKET, `--output=${format}`],
    { note: writeNote, ...(node !== undefined && { only: [node] }) },
  );
  if (isData(output))
    await writeData(
      output,
      answers.flatMap(answer => objectsOf(answer).objects),
    );
  else if (isWhole) writeLines(answers.flatMap(({ lines }) => [...lines, '']).slice(0, -1));
  else writeLines(summaryLines(answers));
  // The summary has a line for these, too.
  if (isWhole || isData(output)) for (const text of awayTexts(answers)) writeNote(text);
  process.exitCode = exitCodeOf(answers, format === 'json');
}

/** By what the lines say, and not by what the command of a node ended with alone. */
function exitCodeOf(answers: readonly NodeAnswer[], areObjects: boolean): number {
  const states = answers.map(answer => {
    const { exitCode } = answer;
    if (exitCode === undefined || exitCode > 1) return 'away';
    return areObjects ? statusOf(answer).state : exitCode === 0 ? 'ready' : 'not ready';
  });
  return states.includes('away') ? 2 : states.includes('not ready') ? 1 : 0;
}

const COLOUR: Readonly<Record<string, (text: string) => string>> = {
  fail: pc.red,
  warn: pc.yellow,
  unknown: pc.yellow,
} satisfies Partial<Record<CheckState, (text: string) => string>>;

/** One line for a node on which all is well, and one for each finding otherwise. */
export function summaryLines(answers: readonly NodeAnswer[]): string[] {
  const width = Math.max(...answers.map(({ node }) => node.length));
  return answers.flatMap(answer => {
    const { state, findings } = statusOf(answer);
    const [first = 'all checks are ok', ...others] = findings;
    const blank = ' '.repeat(width + 2 + STATE_WIDTH + 2);
    const word = (state === 'ready' ? pc.green : pc.red)(state.padEnd(STATE_WIDTH));
    return [
      `${pc.bold(answer.node.padEnd(width))}  ${word}  ${HANG}${first}`,
      ...others.map(finding => `${blank}${HANG}${finding}`),
    ];
  });
}

const STATE_WIDTH = 'not ready'.length;

interface NodeStatus {
  readonly state: 'ready' | 'not ready' | 'away';
  readonly findings: readonly string[];
}

function statusOf(answer: NodeAnswer): NodeStatus {
  if (answer.away !== undefined) return { state: 'away', findings: [answer.away] };
  const status = asMap(objectsOf(answer).objects[0]);
  if (status.kind !== 'Status')
    return { state: 'away', findings: [answer.notes[0] ?? 'its answer cannot be read'] };
  const wrong = asMaps(status.checks).filter(({ state }) => state !== 'ok');
  const problems = Array.isArray(status.problems) ? status.problems.length : 0;
  return {
    state: status.ready === true && answer.exitCode === 0 ? 'ready' : 'not ready',
    findings: [
      ...wrong.map(({ name, state, reason }) => {
        const colour = COLOUR[String(state)] ?? pc.yellow;
        return `${colour(String(state))} ${String(name)}: ${String(reason)}`;
      }),
      ...(problems > 0
        ? [`${plural(problems, 'problem')} in what it reads: --node ${answer.node} lists it all`]
        : []),
    ],
  };
}
