/** `sluice drops`: what the rules of this node denied, by name. */
import type { Denial } from '../../denials/denial.ts';
import type { DenialsFacts } from '../../health/denialscheck.ts';
import { askAgent } from '../../sources/askagent.ts';
import { isData, writeData } from '../../terminal/data.ts';
import {
  type OutputOptions,
  writeLine,
  writeLines,
  writeNote,
  writeUnwrapped,
} from '../../terminal/output.ts';
import { plural } from '../../terminal/plural.ts';
import { type DropFilter, isWanted } from './filter.ts';
import { denialLine, denialObject } from './text.ts';

export interface DropsOptions extends OutputOptions, DropFilter {
  readonly socket: string;
  readonly follow?: boolean;
}

/** Throws CommandError where no agent answers, or it is too old to know. */
export async function dropsCommand(options: DropsOptions): Promise<void> {
  const { socket, follow = false } = options;
  await askAgent(socket, async agent => {
    let facts: DenialsFacts | undefined;
    let shown = 0;
    for await (const message of agent.drops(follow)) {
      facts ??= message.facts;
      if (message.skipped > 0)
        writeNote(`${plural(message.skipped, 'denial')} came faster than they were read`);
      if (message.denial === undefined || !isWanted(message.denial, options)) continue;
      await show(message.denial, options, shown++);
    }
    if (!follow && !isData(options.output)) writeLines(summaryLines(facts, shown));
  });
}

async function show(denial: Denial, { output }: DropsOptions, before: number): Promise<void> {
  if (!isData(output)) return writeLine(denialLine(denial));
  if (output === 'yaml' && before > 0) writeUnwrapped('---\n');
  await writeData(output, [denialObject(denial)]);
}

/** What is behind the list: how much of what was denied it is. */
function summaryLines(facts: DenialsFacts | undefined, shown: number): string[] {
  if (facts === undefined) return [];
  const { limits, error, denied, handed, attempts, lost } = facts;
  if (error !== undefined) return [`denied connections are not named: ${error}`];
  const many = `${plural(denied, 'packet')} denied since the agent started`;
  if (limits === undefined) return [`${many}; none is named (--denials=0)`];
  const leftOut = denied > handed ? `, ${denied - handed} of them beyond the limits and not named` : '';
  const unread = lost > 0 ? `, ${lost} not read` : '';
  return [
    ...(shown === 0 ? ['no denied connection'] : ['']),
    `${plural(attempts, 'connection attempt')} named; ${many}${leftOut}${unread}`,
  ];
}
