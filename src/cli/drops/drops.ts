/** `sluice drops`: the denied connections of this node, by name. */
import type { DenialsFacts } from '../../api/health/agentchecks.ts';
import type { AgentClient } from '../../api/rpc/client.ts';
import { plural } from '../../lib/text/plural.ts';
import { isData } from '../../terminal/data.ts';
import { type OutputOptions, writeLines, writeNote } from '../../terminal/output.ts';
import { type Agents, heartbeat, serveRemote } from '../everynode/agents.ts';
import { askCluster, socketOf, type WhereOptions } from '../everynode/command.ts';
import { askAgent } from '../sources/askagent.ts';
import { type DropFilter, filterWords, isWanted, unknownOf } from './filter.ts';
import { denialsText, Printer, type RecordedOptions, recordedFromMs, sayAtInterrupt } from './printer.ts';
import { denialObject, denialSaid, leftOutLines, missing, summaryLines } from './text.ts';

export interface DropsOptions extends WhereOptions, OutputOptions, DropFilter, RecordedOptions {}

/** Throws CommandError where no agent answers. */
export async function dropsCommand(options: DropsOptions): Promise<void> {
  const { since, last, remote = false } = options;
  const socket = await socketOf(options);
  filterWords(options); // a filter that cannot be read is refused before anybody is asked
  const question = { command: 'drops', filter: options, since, last } as const;
  if (socket === undefined) return askCluster(question, options, sayNothing(options));
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
    const printer = new Printer(options);
    if (follow && !remote) sayAtInterrupt(options.output, printer, () => denialsText(printer.count));
    const facts = await printDenials(agent, printer, options);
    if (!follow && !isData(options.output)) {
      const unknown = printer.count > 0 ? [] : await unknownOf(agent, options);
      writeLines(summaryLines(facts, printer.count, unknown));
    }
    if (!follow && remote) for (const line of leftOutLines(facts)) writeNote(line);
  });
}

/** Prints what is asked for. A prompt elsewhere gets all that is recorded, and chooses by its own clock. */
async function printDenials(
  agent: AgentClient,
  printer: Printer,
  options: DropsOptions,
): Promise<DenialsFacts | undefined> {
  const { follow = false, remote = false } = options;
  const fromMs = remote ? 0 : recordedFromMs(options);
  let [facts, isRecorded]: [DenialsFacts | undefined, boolean] = [undefined, true];
  for await (const { facts: said, skipped, denial, endsRecorded } of agent.drops(follow)) {
    if (endsRecorded) {
      isRecorded = false;
      await printer.begin();
      if (remote) heartbeat();
    }
    if (facts === undefined) warn(said, options);
    facts ??= said;
    if (skipped > 0) writeNote(`${plural(skipped, 'denial')} came faster than they were read`);
    if (denial === undefined || (isRecorded && denial.atMs < fromMs) || !isWanted(denial, options)) continue;
    await printer.take({
      object: () => denialObject(denial),
      said: isWide => denialSaid(denial, isWide),
    });
  }
  await printer.begin();
  return facts;
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
