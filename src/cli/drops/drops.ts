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
import { missing, summaryLines } from './summary.ts';
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
      if (facts === undefined) warn(message.facts, options);
      facts ??= message.facts;
      if (message.skipped > 0)
        writeNote(`${plural(message.skipped, 'denial')} came faster than they were read`);
      if (message.denial === undefined || !isWanted(message.denial, options)) continue;
      await show(message.denial, options, shown++);
    }
    if (!follow && !isData(options.output)) writeLines(summaryLines(facts, shown));
  });
}

/** What is missing, at once where nothing comes behind the list: on standard error, so that data stays data. */
function warn(facts: DenialsFacts | undefined, { follow, output }: DropsOptions): void {
  if (facts === undefined || !(follow || isData(output))) return;
  for (const line of missing(facts)) writeNote(line);
}

async function show(denial: Denial, { output }: DropsOptions, before: number): Promise<void> {
  if (!isData(output)) return writeLine(denialLine(denial));
  if (output === 'yaml' && before > 0) writeUnwrapped('---\n');
  await writeData(output, [denialObject(denial)]);
}
