/** What is said beside the denials: how many there were, how many of them have names, and why not all. */
import type { DenialsFacts } from '../../health/denialscheck.ts';
import { plural } from '../../terminal/plural.ts';

/** What is behind the list: how much of what was denied it is. */
export function summaryLines(facts: DenialsFacts | undefined, shown: number): string[] {
  if (facts === undefined) return [];
  const { limits, error, denied, handed, attempts, lost } = facts;
  if (error !== undefined) return missing(facts);
  const many = `${plural(denied, 'packet')} denied since the agent started`;
  if (limits === undefined) return [`${many}; ${NOT_ASKED}`];
  const leftOut = denied > handed ? `, ${denied - handed} of them beyond the limits and not named` : '';
  const unread = lost > 0 ? `, ${lost} not read` : '';
  return [
    ...(shown === 0 ? ['no denied connection'] : ['']),
    `${plural(attempts, 'connection attempt')} named; ${many}${leftOut}${unread}`,
    ...missing(facts),
  ];
}

const NOT_ASKED = 'none is named (sluice agent --denials=0)';

/** Why there are no names, or not all of them. */
export function missing({ limits, error, services }: DenialsFacts): string[] {
  if (error !== undefined) return [`denied connections are not named: ${error}`];
  if (limits === undefined) return [`denied connections: ${NOT_ASKED}`];
  return services?.problem === undefined ? [] : [`Services have no names: ${services.problem}`];
}
