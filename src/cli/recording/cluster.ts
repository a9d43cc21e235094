/** Merges the recordings of all agents. Each sends parts, so that the parts of a node that goes away are kept. */

import { aborted } from '../../lib/async/aborted.ts';
import { getOrMake } from '../../lib/collections/getormake.ts';
import type { MergedRecording } from '../../observe/recording/merge.ts';
import { LONGEST_LINE, RecordingError, RecordingReader } from '../../observe/recording/read.ts';
import { writeNote } from '../../terminal/output.ts';
import { clusterAgents } from '../everynode/clusteragents.ts';
import type { WhereOptions } from '../everynode/command.ts';
import { askNodes } from '../everynode/nodes.ts';

/** How long nodes may take to send their last parts. */
const LAST_MS = 30_000;
const WORDS = ['sluice', 'record', '-', '--remote'];

/**
 * Records until `finish`, or without it what the agents know now. Returns whether every node has sent everything. Throws
 * CommandError if the cluster cannot be asked.
 */
export async function recordCluster(
  merged: MergedRecording,
  finish: AbortSignal | undefined,
  options: WhereOptions,
): Promise<boolean> {
  const { node } = options;
  const end = new AbortController();
  if (finish) void aborted(finish).then(() => setTimeout(() => end.abort(), LAST_MS).unref());
  const parts = new NodeParts(merged);
  const isWhole = await askNodes({
    agents: await clusterAgents(options),
    words: finish === undefined ? [...WORDS, '--known'] : WORDS,
    forever: finish !== undefined,
    ...(node !== undefined && { only: node }),
    take: (node, line) => parts.take(node, line),
    onAway: node => parts.miss(node),
    note: writeNote,
    ...(finish && { finish }),
    end: end.signal,
  });
  parts.end();
  return isWhole && !parts.hasMissed;
}

/** Characters that no terminal may show take six when they are written. */
const LONGEST = LONGEST_LINE / 6;

/** The size of one part from a node: some hundred times that of a usual minute. */
const MOST_OF_PART = 100_000_000;

/** How the last line of a part begins. */
const END = '{"complete":';

/** Reads the lines of the nodes: each sends one recording after the other. */
export class NodeParts {
  readonly #merged: MergedRecording;
  readonly #fromMs = Date.now();
  readonly #begun = new Map<string, RecordingReader>();
  /** Nodes whose part is full: the rest of it is passed over. */
  readonly #full = new Set<string>();
  readonly #mostOfPart: number;
  #hasMissed = false;

  constructor(merged: MergedRecording, mostOfPart = MOST_OF_PART) {
    this.#merged = merged;
    this.#mostOfPart = mostOfPart;
  }

  get hasMissed(): boolean {
    return this.#hasMissed;
  }

  /**
   * Returns what is wrong with the line. Then the rest of its part is ignored; if the part was too large, the lines
   * before it still count.
   */
  take(node: string, line: string): string | undefined {
    if (this.#full.has(node)) {
      if (line.startsWith(END)) this.#full.delete(node);
      return undefined;
    }
    try {
      this.#add(node, line);
      return undefined;
    } catch (error) {
      if (!(error instanceof RecordingError)) throw error;
      const isFull = this.#begun.get(node)?.isFull;
      this.miss(node);
      if (isFull) this.#full.add(node);
      return `said what is no recording (${error.message})`;
    }
  }

  /** A part of the node's connections is lost. */
  miss(node: string): void {
    this.#hasMissed = true;
    this.#begun.delete(node);
    this.#full.delete(node);
    this.#merged.miss(node);
  }

  /** No further lines will come. */
  end(): void {
    for (const node of [...this.#begun.keys()]) this.miss(node);
  }

  #add(node: string, line: string): void {
    if (line.length > LONGEST) throw new RecordingError(`a line of ${line.length} characters`);
    const reader = getOrMake(this.#begun, node, () => new RecordingReader(this.#mostOfPart));
    reader.add(line);
    if (!reader.isComplete && !reader.isFull) return;
    this.#merge(node, reader);
    if (reader.isFull)
      throw new RecordingError('it reported more than a node may: what came first is taken, and no more');
    this.#begun.delete(node);
  }

  /**
   * A part counts as recorded on this node and at our time, whatever it says itself. A node that sends more than it may
   * counts as missed.
   */
  #merge(node: string, reader: RecordingReader): void {
    const { isCut: _, ...recording } = reader.recording();
    const origin = { recordedOn: [node], missedOn: [], fromMs: this.#fromMs, toMs: Date.now() };
    this.#merged.add({ ...recording, ...origin });
  }
}
