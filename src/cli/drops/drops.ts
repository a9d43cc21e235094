/** `sluice drops`: the denied connections of this node, by name. */
import type { DenialsFacts } from '../../api/health/agentchecks.ts';
import { plural } from '../../lib/text/plural.ts';
import { isData } from '../../terminal/data.ts';
import { type OutputOptions, writeLines, writeNote } from '../../terminal/output.ts';
import { type Agents, heartbeat, serveRemote } from '../everynode/agents.ts';
import { askCluster, socketOf, type WhereOptions } from '../everynode/command.ts';
import { askAgent } from '../sources/askagent.ts';
import { type DropFilter, filterWords, isWanted, unknownOf } from './filter.ts';
import { denialsText, Printer, sayAtInterrupt } from './printer.ts';
import { denialLine, denialObject, leftOutLines, missing, summaryLines } from './text.ts';

export interface DropsOptions extends WhereOptions, OutputOptions, DropFilter {}

/** Throws CommandError where no agent answers. */
export async function dropsCommand(options: DropsOptions): Promise<void> {
  const { policy, remote = false } = options;
  const socket = await socketOf(options);
  const asked = [...filterWords(options), ['--policy', policy]] as const;
  if (socket === undefined) return askCluster('drops', asked, options, sayNothing(options));
  if (remote) serveRemote();
  await askHere(socket, options);
}

/** For text output: a line that nothing was found, and whether the objects in the filter exist. */
function sayNothing({ follow = false, output }: DropsOptions) {
  if (follow || isData(output)) return undefined;
  return async (agents: Agents, given: readonly string[]) => {
    const asked = ['sluice', 'drops', '--remote', ...given];
    // The answer is right without this; a failure here must not spoil it.
    const unknown = given.length === 0 ? undefined : await unknownTo(agents, asked).catch(() => undefined);
    writeLines([`no denied connection${unknown === undefined ? '' : `, and the agents know ${unknown}`}`]);
  };
}

async function askHere(socket: string, options: DropsOptions): Promise<void> {
  const { follow = false, remote = false } = options;
  await askAgent(socket, async agent => {
    let facts: DenialsFacts | undefined;
    const printer = new Printer(options.output);
    if (follow && !remote) sayAtInterrupt(options.output, () => denialsText(printer.count));
    for await (const message of agent.drops(follow)) {
      if (message.endsRecorded && remote) heartbeat();
      if (facts === undefined) warn(message.facts, options);
      facts ??= message.facts;
      if (message.skipped > 0)
        writeNote(`${plural(message.skipped, 'denial')} came faster than they were read`);
      const { denial } = message;
      if (denial === undefined || !isWanted(denial, options)) continue;
      await printer.print(
        () => denialLine(denial),
        () => denialObject(denial),
      );
    }
    if (!follow && !isData(options.output)) {
      const unknown = printer.count > 0 ? [] : await unknownOf(agent, options);
      writeLines(summaryLines(facts, printer.count, unknown));
    }
    if (!follow && remote) for (const line of leftOutLines(facts)) writeNote(line);
  });
}

/**
 * Warns of missing denials on standard error, so that standard output has data only. Without --follow it does so at
 * once.
 */
function warn(facts: DenialsFacts | undefined, { follow, output }: DropsOptions): void {
  if (facts === undefined || !(follow || isData(output))) return;
  for (const line of missing(facts)) writeNote(line);
}

// If nothing was found on any node: whether such an object exists. Every agent knows the whole cluster.

const MOST_ASKED = 3;
const WAIT_MS = 10_000;
const SAID = /^no denied connection, and the agent knows (no .*)$/;

/**
 * `no pod shop/wbe and no policy cnp:x`, from the first agent that answers; undefined if it knows all, or if no agent
 * answers.
 */
export async function unknownTo(agents: Agents, words: readonly string[]): Promise<string | undefined> {
  const running = (await agents.list()).filter(({ phase }) => phase === 'Running');
  for (const pod of running.slice(0, MOST_ASKED)) {
    const lines: string[] = [];
    const sink = { line: (text: string) => void lines.push(text), note: () => undefined };
    const end = AbortSignal.timeout(WAIT_MS);
    const failed = await agents.run(pod, words, sink, { end }).catch((error: Error) => error.message);
    const said = lines.flatMap(line => SAID.exec(line)?.[1] ?? [])[0];
    if (said !== undefined || (failed === undefined && !end.aborted)) return said;
  }
  return undefined;
}
