/** `sluice diff OLD NEW`: the connections that open and close, and which policies do it. */
import type { UnknownPods } from '../../model/podcidrs.ts';
import { type DiffView, diffOf } from '../../reach/diff/diffview.ts';
import { CommandError } from '../../terminal/commanderror.ts';
import { writeJson, writeLines } from '../../terminal/output.ts';
import { terminalWidth, wrap } from '../../terminal/wrap.ts';
import { escaped } from '../matrix/markdown.ts';
import { diffMarkdown } from './markdown.ts';
import { diffObject } from './object.ts';
import { type Cut, cutsOf, readRecording } from './recording.ts';
import { readSides, type SideOptions } from './sides.ts';
import { diffLines } from './text.ts';

export type DiffOptions = SideOptions & {
  readonly output: 'text' | 'json' | 'md';
  readonly unknownPods?: UnknownPods;
  /** A file of connections, or `-`. */
  readonly connections?: string;
};

/** Exit code 0 where nothing opens or closes, else 1. */
export async function diffCommand(old: string, now: string, options: DiffOptions): Promise<void> {
  if (options.connections === '-' && [old, now, ...(options.with ?? [])].includes('-'))
    throw new CommandError('standard input (-) can be read only once');
  const sides = await readSides(old, now, options);
  const unknownPods = options.unknownPods ?? sides.unknownPods ?? 'allow';
  const view = diffOf(sides.old, sides.now, unknownPods);
  const clusters = [sides.old.cluster, sides.now.cluster] as const;
  const flows = options.connections && (await readRecording(options.connections, clusters[0]));
  const cuts = flows ? cutsOf(flows, ...clusters, unknownPods) : undefined;
  write(options.output, view, cuts);
  if (view.changes.length > 0) process.exitCode = 1;
}

function write(format: DiffOptions['output'], view: DiffView, cuts: readonly Cut[] | undefined): void {
  if (format === 'json') writeJson(diffObject(view, cuts));
  else if (format === 'md') writeLines([...diffMarkdown(view), ...cutMarkdown(cuts)]);
  else writeLines([...diffLines(view, terminalWidth()), ...cutLines(cuts, terminalWidth())]);
}

function cutLines(cuts: readonly Cut[] | undefined, width: number): string[] {
  if (cuts === undefined) return [];
  if (cuts.length === 0) return ['', 'no recorded connection would be cut'];
  const lines = cuts.flatMap(({ flow, reason }) => [`  ${flow}`, ...wrap(`    ${reason}`, width, 6)]);
  return ['', 'recorded connections that would be cut:', ...lines];
}

function cutMarkdown(cuts: readonly Cut[] | undefined): string[] {
  if (cuts === undefined) return [];
  if (cuts.length === 0) return ['', 'No recorded connection would be cut.'];
  const lines = cuts.map(({ flow, reason }) => `- ${escaped(flow)}: ${escaped(reason)}`);
  return ['', 'Recorded connections that would be cut:', '', ...lines];
}
