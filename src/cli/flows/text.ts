/** A new connection for people as a line, and for programs as docs/schema/sluice-v1.json has it. */
import type { SeenFlow } from '../../observe/flows/seenflow.ts';
import { clockText, connectionWords } from '../drops/text.ts';
import { versioned } from '../schema.ts';

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
