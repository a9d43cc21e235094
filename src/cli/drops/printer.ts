/** Things that come one by one: for programs an object each, for people a line for what belongs together. */
import { plural } from '../../lib/text/plural.ts';
import { spanText } from '../../lib/text/spantext.ts';
import { type DataFormat, isData, writeData } from '../../terminal/data.ts';
import {
  type OutputOptions,
  outputColumns,
  outputTaken,
  writeLine,
  writeNote,
  writeUnwrapped,
} from '../../terminal/output.ts';
import { Joined, type JoinedLine, joinedText, type Said } from './joined.ts';

/** Something that came: the object for programs, and the words for people, whose making may throw TypeError. */
export interface Report {
  readonly object: () => object;
  readonly said: (isWide: boolean) => Said;
}

export interface PrinterOptions extends Pick<OutputOptions, 'output'> {
  /** Print only this many lines or objects of what is recorded, the latest. */
  readonly last?: number | undefined;
  /** Before the reason of a denial. */
  readonly deniedWord?: string;
}

/** How long a line waits for what belongs to it. */
const JOIN_MS = 200;
const LOOK_MS = 40;

interface Printed {
  readonly reports: number;
  readonly write: () => Promise<void> | void;
}

export class Printer {
  readonly #options: PrinterOptions;
  readonly #joined = new Joined();
  /** What is recorded, where only the latest of it is printed. */
  #tail: Printed[] | undefined;
  #timer: NodeJS.Timeout | undefined;
  #printing: Promise<void> = Promise.resolve();
  #written = 0;
  #count = 0;

  constructor(options: PrinterOptions) {
    this.#options = options;
    this.#tail = options.last === undefined ? undefined : [];
  }

  /** How many reports are printed. */
  get count(): number {
    return this.#count;
  }

  /** Throws TypeError where the report is none. A line is printed a moment later. */
  async take({ object, said }: Report): Promise<void> {
    const { output, deniedWord = '' } = this.#options;
    if (isData(output)) return this.#put({ reports: 1, write: () => this.#writeObject(output, object()) });
    const { denied, ...words } = said(output === 'wide');
    const shown = denied === undefined ? words : { ...words, denied: `${deniedWord}${denied}` };
    this.#joined.add(shown, performance.now());
    this.#schedule();
    // A reader that is slow is waited for.
    await this.#printing;
  }

  /** All that is recorded has come, or all there is: prints what waits, and from now on what comes as it comes. */
  async begin(): Promise<void> {
    await this.#printing;
    await this.#printDue(Number.POSITIVE_INFINITY);
    const tail = this.#tail ?? [];
    this.#tail = undefined;
    for (const printed of tail) await this.#print(printed);
  }

  /** Writes the lines that wait, at once: the process is about to end. */
  interrupt(): void {
    const rest = this.#joined.due(Number.POSITIVE_INFINITY).map(line => this.#printedLine(line));
    const isBegun = this.#tail === undefined;
    const waiting = [...(this.#tail ?? []), ...rest].slice(isBegun ? 0 : -this.#options.last!);
    for (const { reports, write } of waiting) {
      this.#count += reports;
      void write();
    }
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#printing = this.#printing.then(() => this.#printDue(performance.now() - JOIN_MS));
      if (!this.#joined.isEmpty) this.#schedule();
    }, LOOK_MS);
  }

  async #printDue(beforeMs: number): Promise<void> {
    for (const line of this.#joined.due(beforeMs)) await this.#put(this.#printedLine(line));
  }

  #printedLine(line: JoinedLine): Printed {
    return {
      reports: line.said.length,
      write: () => writeLine(joinedText(line, outputColumns())),
    };
  }

  async #put(printed: Printed): Promise<void> {
    if (this.#tail === undefined) return this.#print(printed);
    this.#tail.push(printed);
    if (this.#tail.length > this.#options.last!) this.#tail.shift();
  }

  async #print({ reports, write }: Printed): Promise<void> {
    this.#count += reports;
    await write();
    await outputTaken();
  }

  async #writeObject(format: DataFormat, object: object): Promise<void> {
    if (format === 'yaml' && this.#written++ > 0) writeUnwrapped('---\n');
    await writeData(format, [object]);
  }
}

// The last line of a command that follows, when Ctrl-C ends it: how much it has shown.

/** The command then ends normally, and at once at a second interrupt. */
export function sayAtInterrupt(
  output: OutputOptions['output'],
  printer: Pick<Printer, 'interrupt'>,
  text: () => string,
): void {
  const [stream, write] = isData(output) ? [process.stderr, writeNote] : [process.stdout, writeLine];
  process.once('SIGINT', () => {
    if (stream.isTTY === true) write(''); // below the ^C that the terminal shows
    printer.interrupt();
    write(text());
    process.kill(process.pid, 'SIGINT');
  });
}

/** `3 new connections and 1 denied one in 45 s`. */
export function flowsText(flows: number, denials: number, ms: number): string {
  return `${plural(flows, 'new connection')} and ${plural(denials, 'denied one')} in ${spanText(ms)}`;
}

/** The count includes denials that were recorded before. */
export function denialsText(denials: number): string {
  return `${plural(denials, 'denied connection')} shown`;
}

// Which of what is recorded is asked for.

export interface RecordedOptions {
  readonly follow?: boolean;
  /** Seconds before now. */
  readonly since?: number | undefined;
  /** Only so many, the latest. */
  readonly last?: number | undefined;
}

/** Since when: who follows begins now, unless they ask for earlier ones. Milliseconds since 1970. */
export function recordedFromMs({ follow = false, since, last }: RecordedOptions, nowMs = Date.now()): number {
  if (since !== undefined) return nowMs - since * 1_000;
  return follow && last === undefined ? nowMs : 0;
}

/** Among new connections it is said of the others that they were denied. */
export function deniedWordOf(command: 'drops' | 'flows'): string {
  return command === 'flows' ? 'denied ' : '';
}
