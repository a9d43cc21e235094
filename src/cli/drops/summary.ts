/** What is said beside the denials: how many there were, how many of them have names, and why not all. */
import type { DenialsFacts } from '../../api/health/agentchecks.ts';
import { plural } from '../../terminal/plural.ts';

/** What is behind the list: how much of what was denied it is. */
export function summaryLines(
  facts: DenialsFacts | undefined,
  shown: number,
  unknown: readonly string[] = [],
): string[] {
  if (facts === undefined) return [];
  const { limits, error, denied, attempts } = facts;
  if (error !== undefined) return missing(facts);
  if (limits === undefined) return [`${manyText(denied)}; ${NOT_ASKED}`];
  return [
    ...(shown === 0 ? [`no denied connection${unknownText(unknown)}`] : ['']),
    `${plural(attempts, 'connection attempt')} named; ${manyText(denied)}${leftOutText(facts)}`,
    ...missing(facts),
  ];
}

/** What nothing is found of, since the agent does not know it. */
export function unknownText(unknown: readonly string[]): string {
  return unknown.length === 0 ? '' : `, and the agent knows no ${unknown.join(' and no ')}`;
}

/** What of it no name is of, for a reader elsewhere who has a list of many nodes. */
export function leftOutLines(facts: DenialsFacts | undefined): string[] {
  if (facts?.limits === undefined || facts.error !== undefined) return [];
  const leftOut = leftOutText(facts);
  return leftOut === '' ? [] : [`${manyText(facts.denied)}${leftOut}`];
}

function manyText(denied: number): string {
  return `${plural(denied, 'packet')} denied since the agent started`;
}

function leftOutText({ denied, handed, lost }: DenialsFacts): string {
  const leftOut = denied > handed ? `, ${denied - handed} of them beyond the limits and not named` : '';
  return `${leftOut}${lost > 0 ? `, ${lost} not read` : ''}`;
}

const NOT_ASKED = 'none is named (sluice agent --denials=0)';

/** Why there are no names, or not all of them. */
export function missing({ limits, error, services }: DenialsFacts): string[] {
  if (error !== undefined) return [`denied connections are not named: ${error}`];
  if (limits === undefined) return [`denied connections: ${NOT_ASKED}`];
  return services?.problem === undefined ? [] : [`Services have no names: ${services.problem}`];
}
