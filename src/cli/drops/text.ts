/** A denial for people as a line, and for programs as docs/schema/sluice-v1.json has it. */

import { FAMILY_NAME, familyOf } from '../../model/address.ts';
import type { Denial } from '../../observe/denials/denial.ts';
import { connectionText } from '../../observe/denials/lines.ts';
import pc from '../../terminal/colours.ts';
import { HANG } from '../../terminal/hang.ts';
import { versioned } from '../schema.ts';

/** `16:02:11  guest/visitor -> shop/db:5432/TCP  ingress: NetworkPolicy shop/db selects … (3 times)`. */
export function denialLine(denial: Denial, before = ''): string {
  const { atMs, times, cause } = denial;
  const again = times > 1 ? pc.dim(` (${times} times)`) : '';
  const direction = cause.direction === undefined ? '' : `${cause.direction}: `;
  return `${clockText(atMs)}  ${connectionWords(denial)}  ${HANG}${before}${direction}${cause.reason}${again}`;
}

/** With the family where no address says it: of two families each attempt has a line, and they would look the same. */
export function connectionWords(connection: Parameters<typeof connectionText>[0]): string {
  const { from, to } = connection;
  const isNamed = [from, to].every(({ pod, node }) => (pod ?? node) !== undefined);
  const family = isNamed && familyOf(from.address) === 'ip6' ? pc.dim(` over ${FAMILY_NAME.ip6}`) : '';
  return `${pc.bold(connectionText(connection))}${family}`;
}

/** Of the day, where the reader is. */
export function clockText(ms: number): string {
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
