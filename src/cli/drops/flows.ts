/** `sluice flows`: the new connections of this node's pods by name, and among them those that were denied. */
import type { FlowsMessage } from '../../api/rpc/client.ts';
import { plural } from '../../lib/text/plural.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { isData } from '../../terminal/data.ts';
import { type OutputOptions, writeLine, writeNote } from '../../terminal/output.ts';
import { noteWait } from '../../terminal/progress.ts';
import { heartbeat, serveRemote } from '../everynode/agents.ts';
import { askCluster, socketOf, type WhereOptions } from '../everynode/command.ts';
import { askAgent } from '../sources/askagent.ts';
import { type EndFilter, filterWords, isBetween, unknownOf } from './filter.ts';
import { deniedWordOf, flowsText, Printer, sayAtInterrupt } from './printer.ts';
import { denialObject, denialSaid, flowObject, flowSaid, unknownText } from './text.ts';

export interface FlowsCommandOptions extends WhereOptions, OutputOptions, EndFilter {
  /** How long to follow, in seconds. */
  readonly for: number;
  /** Without `follow`: print only so many, the latest. */
  readonly last?: number | undefined;
}

/** Throws CommandError if no agent answers, or its kernel reports no connections. */
export async function flowsCommand(options: FlowsCommandOptions): Promise<void> {
  const { follow = false, last, remote = false } = options;
  const socket = await socketOf(options);
  filterWords(options); // a filter that cannot be read is refused before anybody is asked
  if (!remote)
    noteWait(
      follow ? 'new connections as they come: Ctrl-C ends it' : `new connections for ${options.for} s`,
    );
  const words = follow ? [] : [`--for=${options.for}`];
  if (socket === undefined) return askCluster({ command: 'flows', filter: options, words, last }, options);
  if (remote) {
    serveRemote();
    heartbeat();
  }
  await askHere(socket, options);
}

async function askHere(socket: string, options: FlowsCommandOptions): Promise<void> {
  const { follow = false, output, remote = false } = options;
  const end = follow ? new AbortController().signal : AbortSignal.timeout(options.for * 1000);
  const shown = new Shown(options);
  if (follow && !remote) sayAtInterrupt(output, shown.printer, () => shown.summary());
  let unknown: readonly string[] = [];
  const why = await askAgent(socket, async agent => {
    for await (const message of agent.flows(end)) {
      if (message.facts?.error !== undefined) return message.facts.error;
      await shown.take(message);
    }
    if (shown.isEmpty && !isData(output)) unknown = await unknownOf(agent, options);
    return undefined;
  });
  await shown.end();
  if (why !== undefined) throw new CommandError(`no new connections are known: ${why}`);
  if (!isData(output)) writeLine(shown.summary(options.for * 1000, unknown));
}

class Shown {
  readonly #options: FlowsCommandOptions;
  readonly printer: Printer;
  readonly #notes = new LostNotes();
  readonly #beganMs = performance.now();
  #flows = 0;
  #denials = 0;
  #lost = 0;

  constructor(options: FlowsCommandOptions) {
    this.#options = options;
    this.printer = new Printer({ ...options, deniedWord: deniedWordOf('flows') });
  }

  async take({
    flows,
    denials,
    lost,
    skipped,
  }: Pick<FlowsMessage, 'flows' | 'denials' | 'lost' | 'skipped'>) {
    this.#notes.take(lost, skipped);
    this.#lost += lost + skipped;
    for (const flow of flows.filter(flow => isBetween(flow, this.#options))) {
      this.#flows++;
      await this.printer.take({
        object: () => flowObject(flow),
        said: isWide => flowSaid(flow, isWide),
      });
    }
    for (const denial of denials.filter(denial => isBetween(denial, this.#options))) {
      this.#denials++;
      await this.printer.take({
        object: () => denialObject(denial),
        said: isWide => denialSaid(denial, isWide),
      });
    }
  }

  async end(): Promise<void> {
    await this.printer.begin();
    this.#notes.say();
  }

  get isEmpty(): boolean {
    return this.#flows + this.#denials === 0;
  }

  /** `unknown` are the parts of the filter that the agent does not know. */
  summary(ms = performance.now() - this.#beganMs, unknown: readonly string[] = []): string {
    return `${flowsText(this.#flows, this.#denials, ms)}; ${this.#lost} lost${unknownText(unknown)}`;
  }
}

/** Losses are printed at once and then once a second at most: otherwise a flood would fill the terminal. */
const EVERY_MS = 1_000;

class LostNotes {
  #lost = 0;
  #skipped = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `lost`: not read by the agent in time. `skipped`: not by us. */
  take(lost: number, skipped: number): void {
    this.#lost += lost;
    this.#skipped += skipped;
    if (this.#timer === undefined && this.#lost + this.#skipped > 0) this.say();
  }

  /** Prints the losses that were not reported yet. */
  say(): void {
    const [lost, skipped] = [this.#lost, this.#skipped];
    [this.#lost, this.#skipped] = [0, 0];
    clearTimeout(this.#timer);
    this.#timer = lost + skipped === 0 ? undefined : setTimeout(() => this.say(), EVERY_MS).unref();
    if (lost > 0) writeNote(`${plural(lost, 'new connection')} lost: they came faster than the agent reads`);
    if (skipped > 0) writeNote(`${plural(skipped, 'connection')} came faster than they were shown`);
  }
}
