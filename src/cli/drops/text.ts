/** A denial for people as a line, and for programs as docs/schema/sluice-v1.json has it. */

import { versioned } from '../../answers/schema.ts';
import type { DenialsFacts } from '../../api/health/agentchecks.ts';
import { plural } from '../../lib/text/plural.ts';
import { FAMILY_NAME, familyOf } from '../../model/address.ts';
import { type Cause, type Denial, deniersOf } from '../../observe/denials/denial.ts';
import { connectionText } from '../../observe/denials/lines.ts';
import type { SeenFlow } from '../../observe/flows/seenflow.ts';
import pc from '../../terminal/colours.ts';
import { HANG } from '../../terminal/hang.ts';

/** `16:02:11  guest/visitor -> shop/db:5432/TCP  ingress: no rule of NetworkPolicy shop/db allows it (3 times)`. */
export function denialLine(denial: Denial, before = ''): string {
  const { atMs, times, cause } = denial;
  const again = times > 1 ? pc.dim(` (${times} times)`) : '';
  const direction = cause.direction === undefined ? '' : `${cause.direction}: `;
  return `${clockText(atMs)}  ${connectionWords(denial)}  ${HANG}${before}${direction}${causeWords(cause)}${again}`;
}

/** The sentence of a policy's denial names both ends again, which the line has already; JSON and the log have it whole. */
function causeWords(cause: Cause): string {
  const { kind, policy, rule, reason } = cause;
  if (kind !== 'policy' || policy === undefined) return reason;
  if (rule !== undefined) return `${policy} ${rule} denies it`;
  const others = deniersOf(cause).length - 1;
  return `no rule of ${policy}${others > 0 ? ` and ${others} more` : ''} allows it`;
}

/** With the family if no address shows it: the lines of two families would look the same. */
function connectionWords(connection: Parameters<typeof connectionText>[0]): string {
  const { from, to } = connection;
  const isNamed = [from, to].every(({ pod, node }) => (pod ?? node) !== undefined);
  const family = isNamed && familyOf(from.address) === 'ip6' ? pc.dim(` over ${FAMILY_NAME.ip6}`) : '';
  return `${pc.bold(connectionText(connection))}${family}`;
}

/** The time of day in the time zone of the reader. */
function clockText(ms: number): string {
  const date = new Date(ms);
  return [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map(n => String(n).padStart(2, '0'))
    .join(':');
}

export function denialObject({ number, atMs, lastMs, cause, ...rest }: Denial): object {
  const time = { time: new Date(atMs).toISOString(), lastTime: new Date(lastMs).toISOString() };
  const { kind, ...why } = cause;
  return versioned('Denial', { ...time, ...rest, protocol: String(rest.protocol), cause: kind, ...why });
}

// The summary of denials: how many there were, how many of them are named, and why not all.

/** The lines below the list: which part of all denied connections the list shows. */
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

/** The message for parts of a filter that the agent does not know. */
export function unknownText(unknown: readonly string[]): string {
  return unknown.length === 0 ? '' : `, and the agent knows no ${unknown.join(' and no ')}`;
}

/** The unnamed part of the summary, for a prompt elsewhere that lists many nodes. */
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

/** Why there are no names. What only Services lack is the same each time: `sluice status` says it. */
export function missing({ limits, error }: DenialsFacts): string[] {
  if (error !== undefined) return [`denied connections are not named: ${error}`];
  return limits === undefined ? [`denied connections: ${NOT_ASKED}`] : [];
}

// A new connection for people as a line, and for programs as docs/schema/sluice-v1.json has it.

/** `16:02:11  guest/visitor -> shop/db:5432/TCP through 10.96.0.80:5432  allowed egress, ingress`. */
export function flowLine(flow: SeenFlow): string {
  return `${clockText(flow.atMs)}  ${connectionWords(flow)}  allowed ${flow.directions.join(', ')}`;
}

const FAMILY_NAMES = { ip: 'ipv4', ip6: 'ipv6' } as const;

export function flowObject({ number: _, atMs, protocol, family, ...rest }: SeenFlow): object {
  const time = new Date(atMs).toISOString();
  return versioned('SeenFlow', {
    time,
    ...rest,
    protocol: String(protocol),
    family: FAMILY_NAMES[family],
  });
}
