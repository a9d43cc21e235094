/** Recorded connections for people, as lines. */

import { plural } from '../../lib/text/plural.ts';
import { spanText } from '../../lib/text/spantext.ts';
import { targetText } from '../../observe/recording/endname.ts';
import { connectionsIn, type FlowGroup } from '../../observe/recording/groups.ts';
import type { Recording } from '../../observe/recording/recording.ts';
import pc from '../../terminal/colours.ts';
import { HANG } from '../../terminal/hang.ts';

/** Longer lists are for programs. */
const MOST_LINES = 50;

/** `Deployment shop/web -> shop/db:5432/TCP  14 connections  NetworkPolicy shop/db selects …`. */
export function groupLines(groups: readonly FlowGroup[], indent: string, isWide: boolean): string[] {
  const shown = isWide ? groups : groups.slice(0, MOST_LINES);
  const more = groups.slice(shown.length);
  return [
    ...shown.map(group => `${indent}${groupText(group)}  ${HANG}${pc.dim(group.reason)}`),
    ...(more.length > 0
      ? [
          `${indent}… and ${plural(connectionsIn(more), 'connection')} in ${more.length} more lines (-o wide has them all)`,
        ]
      : []),
  ];
}

function groupText({ from, to, protocol, port, connections, openBefore = 0 }: FlowGroup): string {
  const count = `${plural(connections, 'connection')}${openText(openBefore)}`;
  return `${from} -> ${targetText(to, protocol, port)}  ${count}`;
}

/** How many of some connections did not begin in the time that was recorded. */
export function openText(count: number): string {
  return count === 0 ? '' : ` (${count} of them open before)`;
}

/** `in 24 h on n1, n2`. */
export function windowText({ fromMs, toMs, recordedOn }: Recording): string {
  return `in ${spanText(toMs - fromMs)}${recordedOn.length === 0 ? '' : ` on ${nodesText(recordedOn)}`}`;
}

/** `n1, n2, n3 and 4 more nodes`. */
export function nodesText(nodes: readonly string[]): string {
  const shown = nodes.slice(0, 3).join(', ');
  return nodes.length > 3 ? `${shown} and ${nodes.length - 3} more nodes` : shown;
}

// Recordings and their connections for programs.

export function recordingObject(recording: Recording): object {
  const { fromMs, toMs, recordedOn, missedOn = [], lost, leftOut, isCut } = recording;
  const left = [...leftOut].map(([namespace, connections]) => ({ namespace, connections }));
  return { fromMs, toMs, recordedOn, missedOn, lost, leftOut: left, isCut: isCut ?? false };
}
