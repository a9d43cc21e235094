/** Denials and new connections for people as parts of a line, and for programs as docs/schema/sluice-v1.json has them. */

import { versioned } from '../../answers/schema.ts';
import type { DenialsFacts } from '../../api/health/agentchecks.ts';
import { plural } from '../../lib/text/plural.ts';
import { FAMILY_NAME, familyOf } from '../../model/address.ts';
import type { PodKey } from '../../model/cluster.ts';
import { labelOf } from '../../model/policyname.ts';
import { type Cause, type Denial, type DenialEnd, deniersOf } from '../../observe/denials/denial.ts';
import { type Connection, connectionText } from '../../observe/denials/lines.ts';
import type { SeenFlow } from '../../observe/flows/seenflow.ts';
import pc from '../../terminal/colours.ts';
import type { Said } from './joined.ts';

/** The denial as a part of a line. Throws TypeError where an agent sent what is none. */
export function denialSaid(denial: Denial, isWide = false): Said {
  const { atMs, times, cause } = denial;
  const direction = cause.direction === undefined ? '' : `${cause.direction}: `;
  return {
    ...connectionSaid(denial, isWide),
    atMs,
    allowed: [],
    denied: `${direction}${isWide ? cause.reason : causeWords(cause)}`,
    times: Number(times) || 1,
  };
}

/** The sentence of a policy's denial names both ends again, which the line has already; JSON and the log have it whole. */
function causeWords(cause: Cause): string {
  const { kind, policy, rule, reason } = cause;
  if (kind !== 'policy' || policy === undefined) return reason;
  if (rule !== undefined) return `denied by ${labelOf(policy)} ${rule}`;
  const others = deniersOf(cause).length - 1;
  return `isolated by ${labelOf(policy)}${others > 0 ? ` +${others}` : ''}`;
}

/** A new connection as a part of a line. Throws TypeError where an agent sent what is none. */
export function flowSaid(flow: SeenFlow, isWide = false): Said {
  return {
    ...connectionSaid(flow, isWide),
    atMs: flow.atMs,
    allowed: flow.directions.map(String),
    times: 1,
  };
}

function connectionSaid(
  connection: Connection & { readonly sourcePort?: number },
  isWide: boolean,
): Pick<Said, 'key' | 'sourcePort' | 'connections' | 'hasService'> {
  const { from, to, protocol, port, sourcePort, service, about } = connection;
  const whole = connectionWords(connection);
  const hasService = service !== undefined;
  return {
    key: JSON.stringify([from.address, from.pod, to.address, to.pod, String(protocol), port, about]),
    sourcePort,
    connections: isWide ? [whole] : [whole, ...shorter(connection).map(connectionWords)],
    hasService,
  };
}

/** For terminals that are too narrow: pods without their template's hash, then the Service instead of the pod behind it. */
function shorter(connection: Connection): Connection[] {
  const { from, to, service, port, ...rest } = connection;
  const hashless = { ...connection, from: withoutHash(from), to: withoutHash(to) };
  if (service?.name === undefined) return [hashless];
  const dialled = { ...to, pod: service.name as PodKey, labels: {} };
  const at = service.port ?? port;
  return [hashless, { ...rest, from: withoutHash(from), to: dialled, ...(at !== undefined && { port: at }) }];
}

function withoutHash<T extends DenialEnd>(end: T): T {
  const hash = end.labels?.['pod-template-hash'];
  if (end.pod === undefined || !hash) return end;
  return { ...end, pod: end.pod.replace(`-${hash}-`, '-…-') };
}

/** With the family if no address shows it: the lines of two families would look the same. */
function connectionWords(connection: Connection): string {
  const { from, to } = connection;
  const isNamed = [from, to].every(({ pod, node }) => (pod ?? node) !== undefined);
  const family = isNamed && familyOf(from.address) === 'ip6' ? pc.dim(` over ${FAMILY_NAME.ip6}`) : '';
  return `${pc.bold(connectionText(connection))}${family}`;
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

// A new connection for programs as docs/schema/sluice-v1.json has it.

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
